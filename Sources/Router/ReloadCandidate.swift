import Cipher
import Console
import Core
import Delivery
import Operations
import PluginHost
import RouterConfiguration
import Rules
import Storage

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
