import Notifications
import Pipeline
import RouterConfiguration
import Rules
import YAMLReading

/// Filter settings that are valid but probably not intended: signals that nothing has, and questions without an answer.
package struct FilterWarnings {
    package private(set) var found: [Diagnostic] = []

    /// `filters` are those of the configuration; of one that could not start nothing is known.
    package init(_ configuration: Configuration, _ rules: RuleBook, _ filters: [EventFilter]) {
        let file = configuration.file ?? "filters"
        let known = Signal.wellKnown.map(\.rawValue) + rules.namedSignals.map(\.rawValue).sorted()
        let asking = Set(filters.filter { $0.need == .distance }.map(\.name))
        for filter in configuration.filters {
            if asking.contains(filter.name), let obstacle = Self.obstacle(to: configuration) {
                let message =
                    "filters.\(filter.name): relays are asked whether anybody the recipient follows follows the author, "
                    + obstacle
                found.append(Diagnostic(file: file, line: filter.line, column: 1, message: message))
            }
            for signal in filter.signals where !known.contains(signal.name) {
                let hint = NearestName.hint(signal.name, among: known)
                let message =
                    "\(signal.path): no signal is called '\(signal.name.prefix(64))'"
                    + (hint.isEmpty ? "; there are: \(known.joined(separator: ", "))" : hint)
                found.append(Diagnostic(file: file, line: signal.line, column: signal.column, message: message))
            }
        }
    }

    /// Why relays will never say who follows an author; nil: they may.
    private static func obstacle(to configuration: Configuration) -> String? {
        let relays = configuration.relays
        if relays.always.isEmpty, relays.nip46.isEmpty, relays.publish.isEmpty { return "and relays.always names none" }
        if configuration.context.wait == .zero {
            return "and with context.wait_milliseconds at 0 nothing waits for what they say"
        }
        return nil
    }
}
