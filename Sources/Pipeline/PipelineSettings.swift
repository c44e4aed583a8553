import Core
import Push
import Rules

/// What the operator decided about events.
package struct PipelineSettings: Sendable {
    /// How far ahead of now an event may be dated: senders' clocks are fast by minutes. A later event is
    /// refused and not remembered, because relays bring it again.
    package static let clockTolerance: Duration = .minutes(15)

    package var rules: RuleBook
    /// Asked in this order.
    package var filters: [EventFilter] = []
    /// What a device gets whose registration asks for no mode.
    package var defaultMode: Mode = .wake
    /// The platforms whose transports seal notifications themselves, to keys of the registration.
    package var encryptingPlatforms: Set<String> = []
    /// The platforms whose transports show a person whatever they are given.
    package var showingPlatforms: Set<String> = []
    /// How long an event waits for a name or a note that its texts refer to; zero: not at all.
    package var contextWait: Duration = .milliseconds(1_500)
    /// How many events wait so at most; further ones go without at once.
    package var contextCapacity: Int = 10_000
    /// The file that keeps names and notes; nil: memory only.
    package var contextPath: String?
    /// Whether names and notes are looked for and kept at all. Notifications say what their event says otherwise.
    package var usesContext: Bool = true
    /// When and how often devices are woken; nil: whenever there is something.
    package var pacing: PacingPolicy?
}

extension PipelineSettings {
    package init(rules: RuleBook) { self.init(rules: rules, filters: []) }
}
