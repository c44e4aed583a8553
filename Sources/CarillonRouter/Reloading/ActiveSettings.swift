import Logging
import Operations
import Pipeline
import Platforms
import PluginHost
import RouterConfiguration
import Rules
import Synchronization

/// Configuration, rules and filters as the last reload left them.
final class ActiveSettings: Sendable {
    private let state: Mutex<(configuration: Configuration, rules: RuleBook, filters: Filters)>

    init(_ configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state = Mutex((configuration, rules, filters))
    }

    /// Those of a start, with filters made for them. What cannot start, and what is valid but probably not meant, is in
    /// the log.
    convenience init(
        startingWith configuration: Configuration,
        _ rules: RuleBook,
        plugins: PluginHost,
        instances: InstanceSettings,
        logger: Logger
    ) {
        let filters = Filters(configuration: configuration, plugins: plugins, settings: instances)
        for failure in filters.failures {
            logger.error(
                "A filter cannot start",
                metadata: ["filter": "\(failure.name)", "reason": "\(failure.reason)"]
            )
        }
        logger.warn(of: rules.warnings + FilterWarnings(configuration, rules, filters.all).found)
        self.init(configuration, rules, filters)
    }

    /// What the pipeline goes by.
    func pipeline(_ platforms: PlatformCatalog, plugins: PluginHost) -> PipelineSettings {
        let (configuration, rules, filters) = state.withLock(\.self)
        return configuration.pipelineSettings(rules, filters, platforms, plugins: plugins)
    }

    /// For keys that take a restart it holds what was there at the start.
    var configuration: Configuration { state.withLock { $0.configuration } }

    var rules: RuleBook { state.withLock { $0.rules } }

    var filters: Filters { state.withLock { $0.filters } }

    func replace(by configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state.withLock { $0 = (configuration, rules, filters) }
    }
}
