import Operations
import RouterConfiguration
import Rules
import Synchronization

/// Configuration, rules and filters as the last reload left them.
final class ActiveSettings: Sendable {
    private let state: Mutex<(configuration: Configuration, rules: RuleBook, filters: Filters)>

    init(_ configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state = Mutex((configuration, rules, filters))
    }

    /// For keys that take a restart it holds what was there at the start.
    var configuration: Configuration { state.withLock { $0.configuration } }

    var rules: RuleBook { state.withLock { $0.rules } }

    var filters: Filters { state.withLock { $0.filters } }

    func replace(by configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state.withLock { $0 = (configuration, rules, filters) }
    }
}
