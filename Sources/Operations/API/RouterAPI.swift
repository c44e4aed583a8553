import Console
import Delivery
import PluginHost
import RouterConfiguration
import Rules
import Units
import YAMLReading

/// All that a running router's API does.
package struct RouterAPI: Sendable {
    package let operations: [APIOperation]
    private let transports: ActiveTransports
    /// Where clients reach the API; empty: nobody said.
    private let publicURL: String

    package init(
        configuration: Configuration,
        devices: DeviceOperations,
        sessions: BrowserSessions,
        listeners: ListenerCounts,
        users: UserOperations,
        logs: LogOperations,
        health: RouterHealth,
        metrics: RouterMetrics,
        plugins: PluginHost,
        transports: ActiveTransports,
        view: ClusterView,
        clusterOperations: ClusterOperations? = nil,
        stream: LiveStream,
        notifier: Notifier,
        rules: @escaping @Sendable () -> (configuration: Configuration, book: RuleBook),
        differences: RulesDifferences,
        reload: @escaping @Sendable () async -> ReloadResult,
        now: @escaping @Sendable () -> Timestamp
    ) {
        let router = StatusAPI(
            health: health,
            metrics: metrics,
            view: view,
            logs: logs,
            hasOpenMetrics: configuration.api?.console.openMetrics ?? false,
            clusterOperations: clusterOperations,
            reload: reload
        )
        let parts: [[APIOperation]] = [
            router.operations, DeviceAPI(devices: devices, view: view, notifier: notifier).operations,
            QueueAPI(view: view).operations,
            AccessAPI(users: users, view: view).operations,
            StreamAPI(stream: stream).operations,
            RulesAPI(plugins: plugins, inForce: rules, reload: reload, differences: differences).operations,
            MeAPI(own: view.accounts, now: now).operations,
            SessionAPI(sessions: sessions).operations,
            GroupAPI(registry: devices.registry, apps: { rules().configuration.appNames }).operations,
            NotifyAPI(notifier: notifier, view: view, plugins: plugins, rules: rules).operations,
        ]
        let operations = parts.flatMap(\.self)
        publicURL = configuration.api?.console.inbound?.publicURL ?? ""
        self.operations = operations + DescriptionAPI.operations(of: operations, url: publicURL)
        self.transports = transports
    }

    package var endpoints: [APIEndpoint] { operations.map(\.endpoint) }

    /// Takes a request from outside to its plugin.
    package func receive(_ call: InboundCall) async -> InboundReply? {
        let request = InboundRequest(
            method: call.method,
            path: call.path,
            query: call.query,
            headers: call.headers,
            body: call.body
        )
        let queue = QueueName(platform: call.platform, app: call.app)
        return await transports.current.receive(request, for: queue)
            .map { InboundReply(status: Int($0.status), headers: $0.headers, body: $0.body) }
    }
}

/// The API's description of itself.
enum DescriptionAPI {
    /// `operations` are all others.
    static func operations(of operations: [APIOperation], url: String) -> [APIOperation] {
        let own = [
            APIOperation(
                APIEndpoint(.get, "/v1/openapi.json", for: .everybody) { _ in ConsoleAnswer(body: "{}") },
                .description,
                "This description.",
                .json(["type": "object"])
            ),
            APIOperation(
                APIEndpoint(.get, "/v1/docs", for: .everybody) { _ in ConsoleAnswer(body: "") },
                .description,
                "The same as a page.",
                .text("text/html; charset=utf-8")
            ),
        ]
        let json = OpenAPIDocument(operations + own, url: url).json
        let page = DescriptionPage(operations + own).html
        return [
            own[0].answering { ConsoleAnswer(body: json) },
            own[1].answering {
                var answer = ConsoleAnswer(body: page)
                answer.contentType = "text/html; charset=utf-8"
                answer.fields["content-security-policy"] = DescriptionPage.policy
                return answer
            },
        ]
    }
}

extension APIOperation {
    /// The same with an answer that never changes.
    fileprivate func answering(_ answer: @escaping @Sendable () -> ConsoleAnswer) -> APIOperation {
        APIOperation(
            APIEndpoint(endpoint.method, endpoint.path, for: endpoint.access) { _ in answer() },
            group,
            summary,
            content
        )
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
