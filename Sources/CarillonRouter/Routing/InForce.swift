import Rules
import Synchronization

/// What a reload exchanges, as it is now.
final class InForce: Sendable {
    private let state: Mutex<(configuration: Configuration, rules: RuleBook, filters: Filters)>

    init(_ configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state = Mutex((configuration, rules, filters))
    }

    /// Of what takes a restart it says what was there at the start.
    var configuration: Configuration { state.withLock { $0.configuration } }

    var rules: RuleBook { state.withLock { $0.rules } }

    /// Returns the filters that were in force.
    func replace(by configuration: Configuration, _ rules: RuleBook, _ filters: Filters) -> Filters {
        state.withLock { state in
            defer { state = (configuration, rules, filters) }
            return state.filters
        }
    }
}
