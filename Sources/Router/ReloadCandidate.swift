import Cipher
import Console
import Core
import Delivery
import Logging
import Observability
import Operations
import Pipeline
import PluginHost
import Push
import RouterConfiguration
import Rules
import Storage
import Synchronization
import WebIngress

/// A re-read configuration that was checked, with all objects made for it. It is not active yet.
struct ReloadCandidate: Sendable {
    let configuration: Configuration
    let rules: RuleBook
    let filters: Filters
    let transports: Transports
    /// Nil if the router has no API.
    let apiToken: APIToken?
    /// New plugins that were refused, with the reasons.
    let refused: [Diagnostic]
    /// The transports and filters still active. Unchanged instances continue to serve.
    private let former: (transports: Transports, filters: Filters)
    private let plugins: PluginHost

    /// Loads new plugins, reads the rules, and makes transports and filters where they changed. `filters` are the
    /// active ones; `hasAPI`: the router has one, which needs a token. Reads files and waits for plugins.
    ///
    /// Throws all errors together, as `Diagnostics`, and discards everything made so far.
    init(_ configuration: Configuration, _ outgoing: Outgoing, _ filters: Filters, hasAPI: Bool) throws {
        var mistakes: [Diagnostic] = []
        var token: APIToken?
        if hasAPI, let api = configuration.api {
            do {
                token = try APITokenFile(path: api.tokenFile).readOrCreate(random: SecureRandom.bytes)
            } catch {
                mistakes += error.all
            }
        }
        // A missing plugin program is one error here; loading would report it for each new plugin.
        _ = try configuration.plugins.processes()
        outgoing.plugins.loadFurther(configuration.plugins.search)
        let platforms = KnownPlatforms(outgoing.plugins)
        refused = platforms.refusals
        var rules = RuleBook?.none
        var mistakesOfRules: [Diagnostic] = []
        do {
            rules = try RulesFiles(configuration, platforms).read()
        } catch {
            mistakesOfRules = error.all.filter { !platforms.refusals.contains($0) }
        }
        former = (outgoing.transports.current, filters)
        plugins = outgoing.plugins
        transports = Transports(
            configuration: configuration,
            plugins: outgoing.plugins,
            settings: outgoing.settings,
            former: former.transports
        )
        self.filters = Filters(
            configuration: configuration,
            plugins: outgoing.plugins,
            settings: outgoing.settings,
            former: former.filters
        )
        mistakes += Self.mistakes(of: transports, self.filters, in: configuration)
        guard mistakes.isEmpty, let rules else {
            Self.discard(transports, self.filters, but: former, plugins)
            // Refused plugins come first: a missing plugin may cause the other errors.
            throw Diagnostics(refused + mistakes + mistakesOfRules)
        }
        self.configuration = configuration
        self.rules = rules
        apiToken = token
    }

    /// The errors of transports and filters that cannot start, with their places in the configuration.
    private static func mistakes(
        of transports: Transports,
        _ filters: Filters,
        in configuration: Configuration
    ) -> [Diagnostic] {
        transports.failures.map { failure in
            Diagnostic(
                file: configuration.file ?? "apps",
                line: failure.line,
                column: 1,
                message: "apps.\(failure.app).\(failure.platform): \(failure.reason)"
            )
        }
            + filters.failures.map { failure in
                Diagnostic(
                    file: configuration.file ?? "filters",
                    line: failure.line,
                    column: 1,
                    message: "filter_plugins.\(failure.name): \(failure.reason)"
                )
            }
    }

    /// Releases the instances that were made for it, because they will never serve.
    func discard() { Self.discard(transports, filters, but: former, plugins) }

    private static func discard(
        _ transports: Transports,
        _ filters: Filters,
        but former: (transports: Transports, filters: Filters),
        _ plugins: PluginHost
    ) {
        let new = transports.all.filter { queue, instance in former.transports.all[queue] !== instance }
        plugins.drain(of: Array(new.values), within: .seconds(1))
        plugins.drain(of: filters.instances(without: former.filters), within: .seconds(5))
    }
}

extension PluginHost {
    /// Ends unused instances, each within `span`. Returns immediately.
    func drain(of instances: [any DrainableInstance], within span: Duration) {
        for instance in instances {
            Task { _ = await retire(instance, within: span) }
        }
    }
}

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
        settings.contextPath = context.file(nextTo: store)
        settings.usesContext = context.isOn
        settings.pacing = defaults.pacing.adding(silentPushesPerHour: platforms.silentPushesPerHour)
        return settings
    }
}

extension Configuration {
    /// This one, with all of `new` that can change while the router runs.
    func reloaded(from new: Configuration) -> Configuration {
        var result = self
        result.rulesFiles = new.rulesFiles
        result.apps = new.apps
        result.defaults.mode = new.defaults.mode
        result.defaults.pacing = new.defaults.pacing
        result.filters = new.filters
        result.shutdownTime = new.shutdownTime
        result.access = new.access
        result.log = new.log
        if let file = new.api?.tokenFile { result.api?.tokenFile = file }
        return result
    }

    /// The changed keys of the file that require a restart.
    func keysRequiringRestart(in new: Configuration) -> [String] {
        let same: [(key: String, isSame: Bool)] = [
            ("identity", identity.keyFile == new.identity.keyFile),
            ("store", store.path == new.store.path && store.maxWaiting == new.store.maxWaiting),
            ("relay", relay == new.relay),
            ("subscribe", subscribePage == new.subscribePage),
            ("relays", relays == new.relays),
            ("hints", hints == new.hints),
            (
                "registration",
                registration.requireSession == new.registration.requireSession
                    && registration.secretFile == new.registration.secretFile
            ),
            (
                "context",
                context.isOn == new.context.isOn && context.wait == new.context.wait
                    && context.path == new.context.path
            ),
            ("trace", trace == new.trace),
            ("dead_letters", deadLetters == new.deadLetters),
            ("tracing", tracing.settings == new.tracing.settings),
            ("operational_events", operationalEvents == new.operationalEvents),
            ("plugins", plugins.isExtended(by: new.plugins)),
            ("http", http == new.http),
            ("sealed_ingress", Self.areSame(sealedIngress, new.sealedIngress)),
            ("api", Self.areSame(api, new.api)),
            ("cluster", Self.areSame(cluster, new.cluster)),
        ]
        return same.filter { !$0.isSame }.map(\.key)
    }

    private static func areSame(_ old: Cluster?, _ new: Cluster?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.servers == new.servers && old.name == new.name && old.prefix == new.prefix
            && old.partitions == new.partitions && old.replicas == new.replicas && old.credentials == new.credentials
            && old.tls == new.tls
    }

    private static func areSame(_ old: SealedIngress?, _ new: SealedIngress?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.app == new.app && old.platform == new.platform && old.trustedProxies == new.trustedProxies
            && old.devices == new.devices
            && old.web.host == new.web.host && old.web.port == new.web.port && old.web.locKey == new.web.locKey
            && old.web.limits == new.web.limits
    }

    private static func areSame(_ old: API?, _ new: API?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.console.host == new.console.host
            && old.console.port == new.console.port && old.console.openMetrics == new.console.openMetrics
            && old.console.inbound?.publicURL == new.console.inbound?.publicURL
            && old.trustedProxies == new.trustedProxies && old.signOn == new.signOn
            && old.streamReaders == new.streamReaders
    }
}
