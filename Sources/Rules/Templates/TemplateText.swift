import Core
import Mustache
import Nostr
import Storage

/// A value that a template may insert, with the functions that may be applied to it, as in
/// `{{excerpt(event.content)}}`.
struct TemplateText: MustacheParent, MustacheTransformable, MustacheCustomRenderable {
    enum Content {
        /// Untrusted text, which is sanitized before it is inserted.
        case untrusted(String)
        /// A name that a person chose, and the key for a placeholder if the sanitized name is empty.
        case name(String, of: PublicKey)
        case publicKey(PublicKey)
        case eventID(EventID, author: PublicKey?, kind: Kind?)
        case address(EventAddress)
        /// Seconds since 1970.
        case moment(Int64)
        /// Text that is sanitized already.
        case neutral(UntrustedText.Neutral)

        static func words(_ text: String) -> Content { .neutral(UntrustedText.Neutral(text: text)) }
    }

    /// The limit in characters.
    private static let nameLimit = 64

    let content: Content
    let scope: TemplateScope
    /// The whole tag, if this is its first value.
    var parts: [String] = []

    var renderText: String { scope.place.put(neutral.text) }

    /// Whether the text shows nothing. It then counts as missing, so that `{{#event.content}}…{{/event.content}}` tests
    /// for content.
    var isNull: Bool {
        if case .untrusted("") = content { return true }
        let text = neutral.text
        // Fast path: nearly all texts start with a visible first byte. There is no white space beyond U+3000.
        var bytes = text.utf8.makeIterator()
        if let first = bytes.next(), (0x21...0x7E).contains(first) || first > 0xE3 { return false }
        // There is none between U+2080 and U+2FFF either, where most symbols are.
        if text.utf8.first == 0xE2, let second = bytes.next(), second > 0x81 { return false }
        return text.allSatisfy(\.isWhitespace)
    }

    /// Only a tag has parts. Without this, Mustache would look for properties of this type, and print text that is not
    /// sanitized.
    func child(named name: String) -> Any? {
        guard let place = Int(name), place > 0, parts.indices.contains(place) else { return nil }
        return TemplateText(content: .untrusted(parts[place]), scope: scope)
    }

    func transform(_ name: String) -> Any? {
        TemplateFunction(name).flatMap(applying)
    }

    /// Returns the result of `function`; nil if it does not apply to this value.
    func applying(_ function: TemplateFunction) -> TemplateText? {
        apply(function).map { TemplateText(content: $0, scope: scope) }
    }

    private func apply(_ function: TemplateFunction) -> Content? {
        switch function {
        case .excerpt(let width):
            let neutral = neutral
            let excerpt = Excerpt.of(neutral.text, characters: width)
            let isWhole = excerpt.utf8.count == neutral.text.utf8.count
            return .words(neutral.isCut && isWhole ? excerpt + "..." : excerpt)
        case .truncate(let width): return .words(String(Excerpt.beginning(of: neutral.text, characters: width)))
        case .npub: return publicKey.map { .words(NIP19.npub($0)) }
        case .note: return eventID.map { .words(NIP19.note($0.id)) }
        case .nevent: return eventID.map { .words(NIP19.nevent($0.id, author: $0.author, kind: $0.kind)) }
        case .nprofile: return publicKey.map { .words(NIP19.nprofile($0)) }
        case .naddr: return address.flatMap(NIP19.naddr).map { .words($0) }
        case .ago: return age.map { .words(RelativeTime.words(seconds: $0, in: scope.language)) }
        case .since: return age.map { .words(RelativeTime.short(seconds: $0)) }
        // Changing case may add accents.
        case .upper: return .neutral(harmless(neutral.text.uppercased()))
        case .lower: return .neutral(harmless(neutral.text.lowercased()))
        case .sats: return number.map { .words($0.thousandths.text) }
        case .round: return number.map { .words($0.rounded().text) }
        case .number(let digits): return number.map { .words($0.text(in: scope.language, fractionDigits: digits)) }
        case .each, .count: return nil
        }
    }

    private var neutral: UntrustedText.Neutral {
        switch content {
        case .untrusted(let text): return harmless(text)
        case .name(let text, let key):
            let name = UntrustedText.neutral(text, isMultiline: false, collapsesBlanks: true).text
            let short = name.isEmpty ? key.hex.prefix(8) + "..." : Excerpt.of(name, characters: Self.nameLimit)
            return UntrustedText.Neutral(text: short)
        case .publicKey(let key): return UntrustedText.Neutral(text: key.hex)
        case .eventID(let id, _, _): return UntrustedText.Neutral(text: id.hex)
        case .address(let address): return harmless(address.description)
        case .moment(let seconds): return UntrustedText.Neutral(text: String(seconds))
        case .neutral(let text): return text
        }
    }

    private func harmless(_ text: String) -> UntrustedText.Neutral {
        UntrustedText.neutral(
            text,
            isMultiline: scope.place.isMultiline,
            collapsesBlanks: scope.place == .identifier
        )
    }

    /// The key, which may also be a tag's value.
    private var publicKey: PublicKey? {
        switch content {
        case .publicKey(let key): key
        case .untrusted(let hex): PublicKey(hex: hex)
        default: nil
        }
    }

    private var eventID: (id: EventID, author: PublicKey?, kind: Kind?)? {
        switch content {
        case .eventID(let id, let author, let kind): (id, author, kind)
        case .untrusted(let hex): EventID(hex: hex).map { ($0, nil, nil) }
        default: nil
        }
    }

    private var address: EventAddress? {
        switch content {
        case .address(let address): address
        case .untrusted(let text): EventAddress(text)
        default: nil
        }
    }

    private var number: DecimalNumber? {
        switch content {
        case .untrusted(let text): DecimalNumber(text)
        case .neutral(let text): DecimalNumber(text.text)
        default: nil
        }
    }

    /// Seconds from the time until now; negative in the future.
    private var age: Int64? {
        switch content {
        case .moment(let seconds): scope.now.seconds &- seconds
        case .untrusted(let digits): Int64(digits).map { scope.now.seconds &- $0 }
        default: nil
        }
    }
}

/// How texts show the `nostr:` URIs that people wrote (NIP-21, NIP-27).
enum MentionStyle: String, CaseIterable, Sendable {
    /// Unchanged.
    case raw
    /// People by their names, events by excerpts.
    case names

    init?(_ value: YAMLValue) {
        guard let style = value.choice(Self.allCases.map(\.rawValue)).flatMap(MentionStyle.init) else { return nil }
        self = style
    }
}

/// Replaces `nostr:` URIs by names and excerpts.
enum Mentions {
    /// Additional ones in a text stay unchanged.
    private static let limit = 32
    /// The limit in characters.
    private static let nameLimit = 40
    private static let excerptLimit = 40
    /// The number of characters that are shown of an unknown entity.
    private static let entityLimit = 12

    /// Replaces the URIs in `text`. `known` contains names of people and texts of events.
    static func spelled(_ text: String, known: [NostrReference: String]) -> String {
        let found = NostrReference.all(in: text, limit: limit)
        guard !found.isEmpty else { return text }
        var spelled = ""
        var end = text.startIndex
        for mention in found {
            spelled += text[end..<mention.range.lowerBound] + word(for: mention, known)
            end = mention.range.upperBound
        }
        return spelled + text[end...]
    }

    private static func word(for mention: NostrReference.Found, _ known: [NostrReference: String]) -> String {
        let text = known[mention.reference].map { oneLine($0) } ?? ""
        switch mention.reference {
        case .profile(let key):
            return "@" + (text.isEmpty ? key.hex.prefix(8) + "..." : Excerpt.of(text, characters: nameLimit))
        case .event, .address:
            guard !text.isEmpty else { return mention.entity.prefix(entityLimit) + "..." }
            return "“" + Excerpt.of(text, characters: excerptLimit) + "”"
        }
    }

    /// Returns `text` in one line. Events that it mentions are not looked up.
    private static func oneLine(_ text: String) -> String {
        UntrustedText.neutral(spelled(text, known: [:]), isMultiline: false, collapsesBlanks: true).text
    }
}
