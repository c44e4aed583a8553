import Console
import Core
import Delivery
import PluginHost
import RouterConfiguration
import Rules
import Storage

/// All that a running router's API does.
package struct RouterAPI: Sendable {
    package let operations: [APIOperation]
    private let transports: ActiveTransports
    /// Where clients reach the API; empty: nobody said.
    private let publicURL: String

    package init(
        users: UserOperations,
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
        reload: @escaping @Sendable () async -> ReloadResult,
        now: @escaping @Sendable () -> Timestamp
    ) {
        let (devices, plugins) = (users.devices, status.health.outgoing.plugins)
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
            router.operations, DeviceAPI(devices: devices, view: view, notifier: notifier).operations,
            QueueAPI(view: view).operations, AccessAPI(users: users, view: view).operations,
            StreamAPI(stream: stream).operations,
            RulesAPI(plugins: plugins, inForce: rules, reload: reload, differences: differences).operations,
            MeAPI(own: view.accounts, now: now).operations, SessionAPI(sessions: sessions).operations,
            GroupAPI(registry: devices.registry, apps: { rules().configuration.appNames }).operations,
            NotifyAPI(notifier: notifier, view: view, plugins: plugins, rules: rules).operations, more,
        ]
        let operations = parts.flatMap(\.self)
        publicURL = console?.inbound?.publicURL ?? ""
        self.operations = operations + DescriptionAPI.operations(of: operations, url: publicURL)
        transports = status.health.outgoing.transports
    }

    package var endpoints: [APIEndpoint] { operations.map(\.endpoint) }

    /// Takes a request from outside to its plugin.
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

/// What came of reading the configuration anew.
package enum ReloadResult: Sendable {
    /// It is in force; `restart` are the keys of the file whose changes take a restart, `warnings` what is hardly
    /// meant, `refused` the plugins that were not taken, and why.
    case done(restart: [String], warnings: [Diagnostic], refused: [Diagnostic])
    /// The old one stays in force, for these reasons.
    case refused(Diagnostics)
    /// Another reload is under way.
    case busy
}
