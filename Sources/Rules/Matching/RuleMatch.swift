import Nostr
import Notifications

/// Which events a rule is for: every condition that is given must hold.
struct RuleMatch: Sendable {
    /// Any of these; nil: every kind.
    var kinds: Set<UInt16>?
    /// Exactly one of these contents; nil: any.
    var content: [String]?
    var relations: Set<Relation>?
    var signals: Set<Signal>?
    /// In thousandths of a satoshi; holds for zaps only.
    var zap: ClosedRange<UInt64>?
    /// How many `p` tags the event has.
    var pTags: ClosedRange<Int>?
    /// Whether the recipient's own contact list names the author.
    var isFollowed: Bool?
    /// The device's language is one of these or falls back to one.
    var languages: [LanguageTag]?

    /// Whether all conditions hold.
    func holds(for question: RuleQuestion) -> Bool {
        if let kinds, !kinds.contains(question.event.kind.rawValue) { return false }
        if let isFollowed, question.isAuthorFollowed != isFollowed { return false }
        if let relations {
            guard let relation = question.relation, relations.contains(relation) else { return false }
        }
        if let signals {
            guard let signal = question.signal, signals.contains(signal) else { return false }
        }
        if let zap {
            guard let amount = question.zapMillisats, zap.contains(amount) else { return false }
        }
        if let languages {
            guard let language = question.language, languages.contains(where: language.speaks) else { return false }
        }
        if let pTags, !pTags.contains(question.event.tags.count { $0.first == "p" }) { return false }
        if let content, !content.contains(question.event.content) { return false }
        return true
    }
}
