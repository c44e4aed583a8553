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

    /// The texts for a batch.
    struct SummaryTexts: Sendable {
        var title: Template
        var body: Template
    }
}
