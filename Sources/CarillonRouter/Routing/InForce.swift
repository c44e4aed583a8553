import Operations
import RouterConfiguration
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

    var filters: Filters { state.withLock { $0.filters } }

    func replace(by configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state.withLock { $0 = (configuration, rules, filters) }
    }
}
