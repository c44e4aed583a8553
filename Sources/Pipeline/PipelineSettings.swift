import Notifications
import Rules

/// What the operator decided about events.
package struct PipelineSettings: Sendable {
    package var rules: RuleBook
    /// What a device gets whose registration asks for no mode.
    package var defaultMode: Mode

    package init(rules: RuleBook, defaultMode: Mode = .wake) {
        self.rules = rules
        self.defaultMode = defaultMode
    }
}
