import Nostr
import Notifications

/// An operator's rules in their order; the first that matches an event decides.
package struct RuleBook: Sendable {
    package let rules: [Rule]
    /// What several events say together.
    let batch: BatchTemplates
    /// The same where none of them is more urgent than low.
    let quietBatch: BatchTemplates
    let index: RuleIndex
    /// The languages that conditions of the rules name and that texts are written in, each once.
    package let languages: [LanguageTag]
    /// Whether it matters whom a recipient follows; else their contact lists need not be known.
    package let asksForFollows: Bool

    init(rules: [Rule], summary: NotificationTemplate, nudge: NeutralTemplates) {
        let telling = rules.filter { !$0.drops && $0.mode > .wake }
        self.rules = rules
        batch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: false)
        quietBatch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: true)
        index = RuleIndex(rules)
        languages = Self.languages(of: rules, summary.texts, nudge.template.texts)
        asksForFollows = rules.contains { $0.match.isFollowed != nil }
    }

    /// What any notification in `mode` may need besides its event.
    package func needs(in mode: Mode) -> RuleNeeds {
        rules.reduce(into: []) { $0.formUnion($1.needs(in: mode)) }
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
}
