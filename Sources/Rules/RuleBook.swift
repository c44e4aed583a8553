import Nostr
import Notifications

/// An operator's rules in their order; the first that matches an event decides.
package struct RuleBook: Sendable {
    package let rules: [Rule]
    /// What a batch of several events says in ``Mode/sealed`` and ``Mode/alert``.
    let summary: SummaryTexts
    /// What stands in place of texts that may not be seen.
    let nudge: NeutralTemplates
    let index: RuleIndex
    /// The languages that conditions of the rules name and that texts are written in, each once.
    package let languages: [LanguageTag]
    /// Whether it matters whom a recipient follows; else their contact lists need not be known.
    package let asksForFollows: Bool

    init(rules: [Rule], summary: SummaryTexts, nudge: NeutralTemplates) {
        self.rules = rules
        self.summary = summary
        self.nudge = nudge
        index = RuleIndex(rules)
        languages = Self.languages(of: rules, summary, nudge)
        asksForFollows = rules.contains { $0.match.isFollowed != nil }
    }

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
        var title: LocalizedTemplate
        var body: LocalizedTemplate
    }
}
