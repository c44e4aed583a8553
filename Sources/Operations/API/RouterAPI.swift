import Console
import Core
import Delivery
import PluginHost
import RouterConfiguration
import Rules
import Storage

/// All operations of a running router's API.
package struct RouterAPI: Sendable {
    package let operations: [APIOperation]
    private let transports: ActiveTransports
    /// The API's base URL for clients; empty: not configured.
    private let publicURL: String

    package init(
        notifier: Notifier,
        kept: KeptEventPages,
        view: MemberView,
        status: StatusReader,
        metrics: RouterMetrics,
        sessions: BrowserSessions,
        logs: LogOperations,
        more: [APIOperation] = [],
        stream: LiveStream,
        rules: @escaping @Sendable () -> (configuration: Configuration, book: RuleBook),
        reload: @escaping @Sendable () async -> ReloadResult
    ) {
        let (devices, plugins) = (view.users.devices, status.health.outgoing.plugins)
        let now = devices.reader.now
        let console = status.configuration.api?.console
        let router = StatusAPI(
            health: status.health,
            metrics: metrics,
            view: view,
            logs: logs,
            hasOpenMetrics: console?.openMetrics ?? false,
            reload: reload
        )
        let differences = RulesDifferences(kept: kept, registry: devices.registry, plugins: plugins, now: now)
        let parts: [[APIOperation]] = [
            router.operations, DeviceAPI(view: view, notifier: notifier).operations,
            QueueAPI(view: view).operations, AccessAPI(view: view).operations,
            StreamAPI(stream: stream).operations,
            RulesAPI(plugins: plugins, inForce: rules, reload: reload, differences: differences).operations,
            MeAPI(view, now: now).operations, SessionAPI(sessions: sessions).operations,
            GroupAPI(registry: devices.registry, apps: { rules().configuration.appNames }).operations,
            NotifyAPI(notifier: notifier, view: view, plugins: plugins, rules: rules).operations, more,
        ]
        let operations = parts.flatMap(\.self)
        publicURL = console?.inbound?.publicURL ?? ""
        self.operations = operations + DescriptionAPI.operations(of: operations, url: publicURL)
        transports = status.health.outgoing.transports
    }

    package var endpoints: [APIEndpoint] { operations.map(\.endpoint) }

    /// Forwards a request from outside to its plugin.
    package func receive(_ call: InboundCall) async -> Console.InboundReply? {
        let request = InboundRequest(
            method: call.method,
            path: call.path,
            query: call.query,
            headers: call.headers,
            body: call.body
        )
        let queue = QueueName(platform: call.platform, app: call.app)
        return await transports.current.receive(request, for: queue)
            .map { Console.InboundReply(status: Int($0.status), headers: $0.headers, body: $0.body) }
    }
}

/// The result of a reload of the configuration.
package enum ReloadResult: Sendable {
    /// The new configuration is active. `restart` are changed keys that require a restart, `warnings` are suspicious
    /// settings, `refused` are rejected plugins with the reason.
    case done(restart: [String], warnings: [Diagnostic], refused: [Diagnostic])
    /// The old configuration stays active, for these reasons.
    case refused(Diagnostics)
    /// Another reload is in progress.
    case busy
}
