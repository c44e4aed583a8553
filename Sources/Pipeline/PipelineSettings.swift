import Core
import Push
import Rules

/// The operator's settings for events.
package struct PipelineSettings: Sendable {
    /// The maximum time that an event may be dated ahead of now, because senders' clocks can be minutes fast. A later
    /// event is refused and not remembered, because relays send it again.
    package static let clockTolerance: Duration = .minutes(15)

    package var rules: RuleBook
    /// Run in this order.
    package var filters: [EventFilter] = []
    /// The mode of devices whose registration asks for none.
    package var defaultMode: Mode = .wake
    /// The platforms whose transports encrypt notifications themselves, to keys of the registration.
    package var encryptingPlatforms: Set<String> = []
    /// The platforms whose transports always show a notification.
    package var showingPlatforms: Set<String> = []
    /// The time that an event waits for a name or a note in its texts. Zero disables waiting.
    package var contextWait: Duration = .milliseconds(1_500)
    /// The maximum number of waiting events. Additional events continue immediately without context.
    package var contextCapacity: Int = 10_000
    /// The file that stores names and notes; nil means memory only.
    package var contextPath: String?
    /// Whether names and notes are fetched and stored. If not, notifications use only their event.
    package var usesContext: Bool = true
    /// When and how often devices get pushes; nil means always immediately.
    package var pacing: PacingPolicy?
}

extension PipelineSettings {
    package init(rules: RuleBook) { self.init(rules: rules, filters: []) }
}
