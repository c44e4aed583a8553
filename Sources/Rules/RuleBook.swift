import Nostr
import Notifications

/// An operator's rules in their order; the first that matches an event decides.
package struct RuleBook: Sendable {
    package let rules: [Rule]
    /// What a batch of several events says in ``Mode/alert``.
    let summary: SummaryTexts

    /// What the rules make of an event for one recipient.
    package enum Decision: Sendable {
        /// Wake the recipient's devices that want `signal`.
        case notify(Rule, Signal)
        /// A rule says that such events wake nobody.
        case drop(Rule)
        /// No rule is for this event, or nobody gave it a signal.
        case unmatched
    }

    /// The decision of the first rule that matches.
    package func decide(kind: Kind, content: String, relation: Relation?, signal: Signal?) -> Decision {
        guard
            let rule = rules.first(where: {
                $0.match.holds(kind: kind, content: content, relation: relation, signal: signal)
            })
        else { return .unmatched }
        if rule.drops { return .drop(rule) }
        guard let signal = rule.signal ?? signal else { return .unmatched }
        return .notify(rule, signal)
    }

    /// The kinds for which any rule can notify at all; nil when some rule names no kinds, so that each must be looked at.
    /// The gate drops every other kind unseen.
    package var notifiableKinds: Set<UInt16>? {
        var kinds: Set<UInt16> = []
        for rule in rules where !rule.drops {
            guard let named = rule.match.kinds else { return nil }
            kinds.formUnion(named)
        }
        return kinds
    }

    /// The signals that the rules name themselves, besides the well-known ones.
    package var namedSignals: Set<Signal> {
        Set(rules.compactMap(\.signal)).subtracting(Signal.wellKnown)
    }

    /// The texts for a batch.
    struct SummaryTexts: Sendable {
        var title: Template
        var body: Template
    }
}
