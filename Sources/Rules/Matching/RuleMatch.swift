import Nostr
import Notifications

/// Which events a rule is for: every condition that is given must hold.
struct RuleMatch: Sendable {
    /// Any of these; nil: every kind. ``RuleIndex`` sees to it.
    var kinds: Set<UInt16>?
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
    /// Of content and tags, those with patterns last.
    private(set) var values: [ValueCondition] = []

    /// Whether there are no conditions, so that no later rule decides anything.
    var isForEverything: Bool {
        kinds == nil && relations == nil && signals == nil && zap == nil && pTags == nil && isFollowed == nil
            && languages == nil && values.isEmpty
    }

    mutating func add(_ condition: ValueCondition) {
        let end = condition.pattern == nil ? values.firstIndex { $0.pattern != nil } : nil
        values.insert(condition, at: end ?? values.endIndex)
    }

    /// Whether all conditions hold, for an event of one of ``kinds``. They are tried in the order of what they cost.
    func holds(for question: RuleQuestion) -> Bool {
        if let isFollowed, question.isAuthorFollowed != isFollowed { return false }
        if let relations {
            guard let relation = question.relation, relations.contains(relation) else { return false }
        }
        if let zap {
            guard let amount = question.zapMillisats, zap.contains(amount) else { return false }
        }
        if let signals {
            guard let signal = question.signal, signals.contains(signal) else { return false }
        }
        if let languages {
            guard let language = question.language, languages.contains(where: language.speaks) else { return false }
        }
        if let pTags, !pTags.contains(question.event.tags.count { $0.first == "p" }) { return false }
        return values.allSatisfy { $0.holds(for: question.event) }
    }
}
