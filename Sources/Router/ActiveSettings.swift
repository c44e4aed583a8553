import Logging
import Operations
import Pipeline
import PluginHost
import Push
import RouterConfiguration
import Rules
import Synchronization

/// The configuration, rules and filters from the last successful reload.
final class ActiveSettings: Sendable {
    private let state: Mutex<(configuration: Configuration, rules: RuleBook, filters: Filters)>
    private let plugins: PluginHost

    /// The settings at the start, with filters made for them. Logs filters that cannot start, and settings that are
    /// valid but probably not intended.
    init(startingWith configuration: Configuration, _ rules: RuleBook, _ outgoing: Outgoing, _ logger: Logger) {
        plugins = outgoing.plugins
        let filters = Filters(configuration: configuration, plugins: plugins, settings: outgoing.settings)
        for failure in filters.failures {
            logger.error(
                "Failed to start a filter",
                metadata: ["filter": "\(failure.name)", "reason": "\(failure.reason)"]
            )
        }
        logger.warn(of: rules.warnings + FilterWarnings(configuration, rules, filters.all).found)
        state = Mutex((configuration, rules, filters))
    }

    func pipeline(_ platforms: PlatformCatalog) -> PipelineSettings {
        let (configuration, rules, filters) = state.withLock(\.self)
        return configuration.pipelineSettings(rules, filters, platforms, plugins: plugins)
    }

    /// Keys that require a restart keep their values from the start.
    var configuration: Configuration { state.withLock { $0.configuration } }

    var rules: RuleBook { state.withLock { $0.rules } }

    var filters: Filters { state.withLock { $0.filters } }

    func replace(by configuration: Configuration, _ rules: RuleBook, _ filters: Filters) {
        state.withLock { $0 = (configuration, rules, filters) }
    }
}

extension Configuration {
    func pipelineSettings(
        _ rules: RuleBook,
        _ filters: Filters,
        _ platforms: PlatformCatalog,
        plugins: PluginHost
    ) -> PipelineSettings {
        var settings = PipelineSettings(rules: rules)
        settings.filters = filters.all
        settings.defaultMode = defaults.mode
        settings.encryptingPlatforms = plugins.encryptingPlatforms
        settings.showingPlatforms = plugins.showingPlatforms
        settings.contextWait = context.wait
        settings.contextPath = contextPath
        settings.usesContext = context.isOn
        settings.pacing = defaults.pacing.adding(silentPushesPerHour: platforms.silentPushesPerHour)
        return settings
    }
}
