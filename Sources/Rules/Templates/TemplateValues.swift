import Core
import JSON
import Mustache
import Nostr
import Push

/// The values of variables, by name.
struct TemplateValues: MustacheParent {
    private let source: TemplateSource?
    private let count: UInt32
    private var scope: TemplateScope

    init(_ input: consuming RuleInput, now: Timestamp = .epoch, mentions: MentionStyle = .raw) {
        self.init(TemplateSource(input), now: now, mentions: mentions)
    }

    init(_ source: TemplateSource, now: Timestamp, mentions: MentionStyle) {
        self.source = source
        self.count = 1
        self.scope = TemplateScope(now: now, mentions: mentions)
    }

    /// Values for texts that belong to no single event.
    init(count: UInt32) {
        self.source = nil
        self.count = count
        self.scope = TemplateScope()
    }

    /// Returns the same values for a template in `language`.
    func speaking(_ language: LanguageTag) -> TemplateValues {
        var values = self
        values.scope.language = language
        return values
    }

    /// Returns the same values for a text at such a place.
    func going(to place: TextPlace) -> TemplateValues {
        var values = self
        values.scope.place = place
        return values
    }

    func child(named name: String) -> Any? {
        switch name {
        case "event": group(.event)
        case "author": group(.author)
        case "recipient": group(.recipient)
        case "referenced": source?.input.referenced == nil ? nil : group(.referenced)
        case "zap": source?.input.zap == nil ? nil : group(.zap)
        default: word(name, scope)
        }
    }

    /// Returns the value of a variable for a text at `place`; nil if there is none.
    func text(_ path: TemplatePath, in place: TextPlace) -> TemplateText? {
        var scope = scope
        scope.place = place
        switch path {
        case .word(let name): return word(name, scope)
        case .member(let group, let member):
            guard let source else { return nil }
            return TemplateGroup.content(of: member, in: group, source, scope)
                .map { TemplateText(content: $0, scope: scope) }
        case .tag(let name, let place):
            guard let tag = source?.input.event.firstTag(name), tag.indices.contains(place) else { return nil }
            return TemplateText(content: .untrusted(tag[place]), scope: scope)
        }
    }

    private func word(_ name: String, _ scope: TemplateScope) -> TemplateText? {
        let word: String?
        switch name {
        case "signal": word = source?.input.signal?.rawValue
        case "relation": word = source?.input.relation?.rawValue
        case "count": word = String(count)
        case "batch": word = count > 1 ? "batch" : nil
        default: return nil
        }
        return TemplateText(content: .words(word ?? ""), scope: scope)
    }

    private func group(_ group: TemplateGroup.Name) -> TemplateGroup? {
        source.map { TemplateGroup(name: group, source: $0, scope: scope) }
    }
}

/// The source of values. It is shared, because values are copied and changed for each text, and an input contains many
/// strings.
final class TemplateSource: Sendable {
    let input: RuleInput

    init(_ input: consuming RuleInput) { self.input = input }
}

/// The variables of one group, such as `event.`.
struct TemplateGroup: MustacheParent {
    enum Name {
        case event
        case author
        case recipient
        case referenced
        case referencedAuthor
        case zap
        case tag
        case tags
    }

    let name: Name
    let source: TemplateSource
    let scope: TemplateScope

    func child(named member: String) -> Any? {
        switch (name, member) {
        case (.event, "tag"): TemplateGroup(name: .tag, source: source, scope: scope)
        case (.event, "tags"): TemplateGroup(name: .tags, source: source, scope: scope)
        case (.event, "json"): source.input.facts.json.map { TemplateJSON(value: $0, scope: scope) }
        case (.referenced, "author") where referencedAuthor == nil: NothingKnown()
        case (.referenced, "author"): TemplateGroup(name: .referencedAuthor, source: source, scope: scope)
        case (.tag, _): tag(member)
        case (.tags, _): TemplateList(texts: source.input.event.values(of: member), scope: scope)
        default:
            Self.content(of: member, in: name, source, scope).map { TemplateText(content: $0, scope: scope) }
        }
    }

    /// Returns the value of a variable in a group; nil if there is none.
    static func content(
        of member: String,
        in name: Name,
        _ source: TemplateSource,
        _ scope: TemplateScope
    ) -> TemplateText.Content? {
        func written(_ text: String) -> String { Self.written(text, source, scope) }
        return switch (name, member) {
        case (.event, "id"):
            .eventID(source.input.event.id, author: source.input.event.pubkey, kind: source.input.event.kind)
        case (.event, "address"): source.input.event.publicAddress.map(TemplateText.Content.address)
        case (.event, "pubkey"): .publicKey(source.input.event.pubkey)
        case (.event, "kind"): .words(String(source.input.event.kind.rawValue))
        case (.event, "content"): .untrusted(written(source.input.event.content))
        case (.event, "created_at"): .moment(source.input.event.createdAt)
        case (.event, "subject"): source.input.event.value(of: "subject").map { .untrusted(written($0)) }
        case (.author, "name"): .name(source.input.authorName, of: source.input.author)
        case (.author, "pubkey"): .publicKey(source.input.author)
        case (.author, "npub"): .words(NIP19.npub(source.input.author))
        case (.recipient, "pubkey"): .publicKey(source.input.recipient)
        case (.recipient, "npub"): .words(NIP19.npub(source.input.recipient))
        case (.referenced, "id"): source.input.referenced.map { .eventID($0.id, author: $0.author, kind: $0.kind) }
        case (.referenced, "kind"): source.input.referenced?.kind.map { .words(String($0.rawValue)) }
        case (.referenced, "content"): source.input.referenced?.content.map { .untrusted(written($0)) }
        case (.referencedAuthor, "name"):
            source.input.referenced?.author.map { .name(source.input.referenced?.authorName ?? "", of: $0) }
        case (.referencedAuthor, "pubkey"): source.input.referenced?.author.map { .publicKey($0) }
        case (.zap, "amount"): source.input.zap.map { .words(DecimalNumber($0.millisats).thousandths.text) }
        case (.zap, "comment"): source.input.zap.map { .untrusted(written($0.comment)) }
        case (.zap, "anonymous"): source.input.zap.map { .words($0.isAnonymous ? "anonymous" : "") }
        default: nil
        }
    }

    private var referencedAuthor: PublicKey? { source.input.referenced?.author }

    /// Returns the first value, with all values of the tag as its parts.
    private func tag(_ name: String) -> TemplateText? {
        guard let tag = source.input.event.firstTag(name) else { return nil }
        return TemplateText(content: .untrusted(tag[1]), scope: scope, parts: tag)
    }

    /// Returns a text that a person wrote, with mentions in readable form if the template requires it.
    private static func written(_ text: String, _ source: TemplateSource, _ scope: TemplateScope) -> String {
        guard scope.mentions == .names, scope.place.isForPeople else { return text }
        return Mentions.spelled(text, known: source.input.mentioned)
    }
}

/// A group without known values. Its variables hide those of an outer group with the same name.
private struct NothingKnown: MustacheParent, MustacheCustomRenderable {
    var renderText: String { "" }
    var isNull: Bool { true }

    func child(named name: String) -> Any? { nil }
}

/// The first values of all tags of a name, for a section that repeats for each.
struct TemplateList: MustacheSequence, MustacheTransformable {
    /// The default limit.
    static let usualCount = 10

    private let texts: [String]
    private let scope: TemplateScope
    private let limit: Int

    init(texts: [String], scope: TemplateScope, limit: Int = usualCount) {
        self.texts = texts
        self.scope = scope
        self.limit = limit
    }

    func makeIterator() -> AnyIterator<TemplateText> {
        AnyIterator(texts.lazy.prefix(limit).map { TemplateText(content: .untrusted($0), scope: scope) }.makeIterator())
    }

    func transform(_ name: String) -> Any? {
        switch TemplateFunction(name) {
        case .each(let count): TemplateList(texts: texts, scope: scope, limit: count)
        case .count: TemplateText(content: .words(texts.isEmpty ? "" : String(texts.count)), scope: scope)
        default: nil
        }
    }
}

/// A value in JSON content. Strings and numbers are inserted; objects and lists only have members.
struct TemplateJSON: MustacheParent, MustacheCustomRenderable {
    let value: JSONValue
    let scope: TemplateScope

    var renderText: String { "" }
    var isNull: Bool { false }

    func child(named name: String) -> Any? {
        guard let value = value[part: name] else { return nil }
        switch value {
        case .string(let text), .number(let text): return TemplateText(content: .untrusted(text), scope: scope)
        case .bool(let flag): return TemplateText(content: .words(flag ? "true" : ""), scope: scope)
        case .object, .array: return TemplateJSON(value: value, scope: scope)
        case .null: return nil
        }
    }
}

extension Event {
    /// The first tag of that name that has a value.
    func firstTag(_ name: String) -> [String]? { tags.first { $0.count > 1 && $0[0] == name } }

    /// The address of the newest version; nil if the event has none.
    fileprivate var publicAddress: EventAddress? {
        switch kind.retention {
        case .addressable: address
        case .replaceable: EventAddress(kind: kind, pubkey: pubkey, identifier: "")
        case .regular, .ephemeral: nil
        }
    }
}
