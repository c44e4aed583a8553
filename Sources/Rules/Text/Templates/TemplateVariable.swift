import Notifications
import Units
import YAMLReading

/// A variable of templates.
struct TemplateVariable: Sendable, Hashable {
    /// Its type, and so which functions can be applied to it.
    enum Content: Sendable {
        case text
        case publicKey
        case eventID
        /// Seconds since 1970.
        case moment
        /// The address of an event's newest version.
        case address
        case number
        /// The value of a tag or field, which may be any of these.
        case any
        /// Several of them, for a section.
        case list
    }

    /// As a template writes it.
    let name: String
    let content: Content

    private init(_ name: String, _ content: Content = .text) {
        self.name = name
        self.content = content
    }

    /// The variables of texts about one event, besides those with ``tagPrefix``, ``listPrefix`` and ``fieldPrefix``.
    static let ofEvents: [TemplateVariable] =
        [
            TemplateVariable("event.id", .eventID), TemplateVariable("event.address", .address),
            TemplateVariable("event.pubkey", .publicKey),
            TemplateVariable("event.kind"), TemplateVariable("event.content"),
            TemplateVariable("event.created_at", .moment), TemplateVariable("event.subject"),
            TemplateVariable("author.name"), TemplateVariable("author.pubkey", .publicKey),
            TemplateVariable("author.npub"), TemplateVariable("recipient.pubkey", .publicKey),
            TemplateVariable("recipient.npub"), TemplateVariable("referenced.id", .eventID),
            TemplateVariable("referenced.kind"), TemplateVariable("referenced.content"),
            TemplateVariable("referenced.author.name"), TemplateVariable("referenced.author.pubkey", .publicKey),
            TemplateVariable("zap.amount", .number), TemplateVariable("zap.comment"), TemplateVariable("zap.anonymous"),
            TemplateVariable("signal"), TemplateVariable("relation"),
        ] + ofBatches

    /// The variables of texts that are about no event in particular.
    static let ofBatches = [TemplateVariable("count", .number), TemplateVariable("batch")]

    static let tagPrefix = "event.tag."
    static let listPrefix = "event.tags."
    static let fieldPrefix = "event.json."
    /// The largest index of a value in a tag.
    private static let places = 1...9

    /// The variable of that name with one of the prefixes; nil if there is none.
    static func made(_ name: String) -> TemplateVariable? {
        if name.hasPrefix(tagPrefix) { return tag(name.dropFirst(tagPrefix.count)) }
        if name.hasPrefix(listPrefix) { return list(name.dropFirst(listPrefix.count)) }
        if name.hasPrefix(fieldPrefix) { return field(name.dropFirst(fieldPrefix.count)) }
        return nil
    }

    /// The first value of the first tag `name`, or the value at an index behind the name; nil if that cannot be a tag's
    /// name in a template.
    static func tag(_ name: some StringProtocol) -> TemplateVariable? {
        let parts = String(name).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, isName(first) else { return nil }
        if parts.count == 2 {
            guard let place = Int(parts[1]), places.contains(place), parts[1].utf8.count == 1 else { return nil }
        }
        return TemplateVariable(tagPrefix + name, .any)
    }

    /// The first values of all tags called `name`.
    private static func list(_ name: some StringProtocol) -> TemplateVariable? {
        isName(name) ? TemplateVariable(listPrefix + name, .list) : nil
    }

    /// A field of content that is JSON.
    private static func field(_ path: some StringProtocol) -> TemplateVariable? {
        let path = String(path)
        guard JSONPath(path) != nil, path.split(separator: ".").allSatisfy({ isName($0) }) else { return nil }
        return TemplateVariable(fieldPrefix + path, .any)
    }

    private static func isName(_ name: some StringProtocol) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}

/// The variables that texts of one place may use.
struct TemplateVocabulary: Sendable {
    private let variables: [TemplateVariable]
    private let knowsTags: Bool

    /// For texts about an event.
    static let event = TemplateVocabulary(variables: TemplateVariable.ofEvents, knowsTags: true)
    /// For texts that are about no event in particular.
    static let batch = TemplateVocabulary(variables: TemplateVariable.ofBatches, knowsTags: false)

    /// Every variable, for people.
    var names: [String] {
        variables.map(\.name)
            + (knowsTags
                ? [
                    TemplateVariable.tagPrefix + "NAME", TemplateVariable.tagPrefix + "NAME.2",
                    TemplateVariable.listPrefix + "NAME", TemplateVariable.fieldPrefix + "NAME",
                ] : [])
    }

    /// The variable of that full name.
    func variable(_ name: String) -> TemplateVariable? {
        if let variable = variables.first(where: { $0.name == name }) { return variable }
        return knowsTags ? TemplateVariable.made(name) : nil
    }

    /// Whether variables stand behind `name` and a dot.
    func isGroup(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && variables.contains { $0.name.hasPrefix("\(name).") }
    }

    func unknownVariable(_ name: some StringProtocol) -> TemplateError {
        let whole = name.isEmpty ? nil : variables.first { $0.name.hasSuffix(".\(name)") }?.name
        let hint =
            whole.map { "; did you mean '\($0)'?" } ?? NearestName.hint(String(name), among: variables.map(\.name))
        return TemplateError(
            "there is no variable '\(name.prefix(40))'"
                + (hint.isEmpty ? "; there are " + names.joined(separator: ", ") : hint)
        )
    }
}

/// Where and when a template is rendered.
struct TemplateScope: Sendable {
    /// The place the text goes to.
    var place = TextPlace.line
    /// The template's language; nil if unknown.
    var language: LanguageTag?
    /// The epoch: unknown.
    var now: Timestamp = .epoch
    /// How `nostr:` URIs are shown in texts for people.
    var mentions = MentionStyle.raw
}
