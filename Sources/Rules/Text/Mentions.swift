import Nostr
import YAMLReading

/// How texts show the `nostr:` URIs in what people wrote (NIP-21, NIP-27).
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
    /// Further ones in a text stay as they are.
    private static let limit = 32
    /// In characters.
    private static let nameLimit = 40
    private static let excerptLimit = 40
    /// How much of an unknown entity is shown.
    private static let entityLimit = 12

    /// `known` has names of people and texts of events.
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

    /// A note may mention others, which are not looked up.
    private static func oneLine(_ text: String) -> String {
        UntrustedText.neutral(spelled(text, known: [:]), isMultiline: false, collapsesBlanks: true).text
    }
}
