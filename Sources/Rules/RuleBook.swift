import Nostr
import Notifications
import Platforms

/// An operator's rules in their order; the first that matches an event decides. Apps may have books of their own.
package struct RuleBook: Sendable {
    package let rules: [Rule]
    /// The file's texts for several events, and for what may not be seen.
    let summary: NotificationTemplate
    let nudge: NeutralTemplates
    /// What several events say together.
    let batch: BatchTemplates
    /// The same where none of them is more urgent than low.
    let quietBatch: BatchTemplates
    let index: RuleIndex
    /// The languages that conditions of the rules name and that texts are written in, each once.
    package let languages: [LanguageTag]
    /// Whether it matters whom a recipient follows; else their contact lists need not be known.
    package let asksForFollows: Bool
    /// Whether it matters on which platform a device is.
    package let asksForPlatform: Bool
    /// Whether it matters which app's a device is.
    package let asksForApp: Bool
    /// What decides for devices of apps that have rules of their own: these, and behind them the common ones.
    package let ofApps: [String: RuleBook]

    /// `platforms` are those whose blocks the rules have.
    init(
        rules: [Rule],
        summary: NotificationTemplate,
        nudge: NeutralTemplates,
        ofApps: [String: RuleBook] = [:],
        platforms: PlatformCatalog
    ) {
        let telling = rules.filter { !$0.drops && $0.mode > .wake }
        self.rules = rules
        self.ofApps = ofApps
        self.summary = summary
        self.nudge = nudge
        batch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: false, platforms)
        quietBatch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: true, platforms)
        index = RuleIndex(rules)
        let apps = ofApps.values
        languages = Self.languages(of: rules, summary.texts, nudge.template.texts, apps.flatMap(\.languages))
        asksForFollows = rules.contains { $0.match.isFollowed != nil } || apps.contains(where: \.asksForFollows)
        asksForPlatform = rules.contains { $0.match.platforms != nil } || apps.contains(where: \.asksForPlatform)
        asksForApp = rules.contains { $0.match.apps != nil } || !ofApps.isEmpty
    }

    /// What decides for devices of that app.
    package subscript(app: String) -> RuleBook { ofApps[app] ?? self }

    /// What any notification in `mode` may need besides its event, whatever the app.
    package func needs(in mode: Mode) -> RuleNeeds {
        let common = rules.reduce(into: RuleNeeds()) { $0.formUnion($1.needs(in: mode)) }
        return ofApps.values.reduce(into: common) { $0.formUnion($1.needs(in: mode)) }
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
