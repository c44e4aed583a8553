import Console
import Core
import Delivery
import JSON
import Logging
import PluginHost
import Push
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
        let differences = RulesDifferences(kept: kept, registry: devices.reader.registry, plugins: plugins, now: now)
        let parts: [[APIOperation]] = [
            router.operations, DeviceAPI(view: view, notifier: notifier).operations,
            QueueAPI(view: view).operations, AccessAPI(view: view).operations,
            StreamAPI(stream: stream).operations,
            RulesAPI(plugins: plugins, inForce: rules, reload: reload, differences: differences).operations,
            MeAPI(view, now: now).operations, SessionAPI(sessions: sessions).operations,
            GroupAPI(registry: devices.reader.registry, apps: { rules().configuration.appNames }).operations,
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

/// Endpoints for the router's state: health, metrics, issues, plugins, counts, log levels, and the reload of its
/// configuration.
struct StatusAPI {
    /// The timeout of health checks.
    private static let timeout: Duration = .seconds(5)

    let health: RouterHealth
    let metrics: RouterMetrics
    let view: MemberView
    let logs: LogOperations
    let hasOpenMetrics: Bool
    let reload: @Sendable () async -> ReloadResult

    var operations: [APIOperation] {
        [
            alive, ready, numbers, overview, issues, ways, plugin, counts, levels, setLevel, reloading,
        ]
    }

    // MARK: For monitoring

    private var alive: APIOperation {
        APIOperation(
            APIEndpoint(.get, "/healthz", for: .everybody, isProbe: true) { [health] _ in
                let stuck = await health.stuck(within: Self.timeout)
                let body: JSONValue = ["alive": .bool(stuck.isEmpty), "stuck": .texts(stuck)]
                return ConsoleAnswer(status: stuck.isEmpty ? 200 : 503, body: body.json + "\n")
            },
            .now,
            "Returns whether the process responds; 503 if a part is stuck.",
            .json(
                [
                    "type": "object", "required": ["alive", "stuck"],
                    "properties": [
                        "alive": ["type": "boolean"], "stuck": ["type": "array", "items": ["type": "string"]],
                    ],
                ]
            )
        )
    }

    private var ready: APIOperation {
        APIOperation(
            APIEndpoint(.get, "/readyz", for: .everybody, isProbe: true) { [health] call in
                let readiness = await health.readiness(within: Self.timeout)
                return readiness.answer(details: call.principal?.isAgent ?? false)
            },
            .now,
            "Returns whether the router is ready to push; 503 if not. Clients with a token get the reasons.",
            .json(
                [
                    "type": "object", "required": ["ready", "not_ready"],
                    "properties": [
                        "ready": ["type": "boolean"],
                        "not_ready": [
                            "type": "array",
                            "items": [
                                "type": "object", "required": ["code"],
                                "properties": ["code": ["type": "string"], "message": ["type": "string"]],
                            ],
                        ],
                    ],
                ]
            )
        )
    }

    private var numbers: APIOperation {
        APIOperation(
            APIEndpoint(.get, "/metrics", for: hasOpenMetrics ? .everybody : .scope(.read)) { [metrics] _ in
                .metrics(await metrics.families())
            },
            .now,
            "Metrics for Prometheus.",
            .text(Exposition.contentType)
        )
    }

    // MARK: For operators

    private var overview: APIOperation {
        .report(.get("/v1/status"), .now, "Returns the router's status, problems and fixes.") { [view] _ in
            try await view.status(within: Self.timeout)
        }
    }

    private var issues: APIOperation {
        .report(.get("/v1/issues"), .now, "Lists all problems and their fixes.") { [view] _ in
            IssueList(issues: try await view.status(within: Self.timeout).issues)
        }
    }

    private var ways: APIOperation {
        .report(
            .get("/v1/listeners"),
            .now,
            "Lists where events, registrations and requests come from, and what was rejected there."
        ) { [view] _ in try await view.listeners.whole(NoParameters()) }
    }

    private var plugin: APIOperation {
        .report(.get("/v1/plugins"), .router, "Lists plugin processes, and plugins that were rejected.") {
            [view] _ in try await view.plugins.whole(NoParameters())
        }
    }

    private var counts: APIOperation {
        .report(
            .get("/v1/stats"),
            .now,
            "Returns counts by day: devices, and the results of events and pushes.",
            [
                .query("days", .integer(1...Int64(StatisticsOperations.daysKept)), "Days, with today. Default: 7."),
                .query("by", .choice(StatisticsReport.Division.allCases.map(\.rawValue)), "Groups the counts."),
            ]
        ) { [view] call in try await view.counts.whole(call.query) }
    }

    private var levels: APIOperation {
        .report(.get("/v1/logs"), .router, "Returns the log levels.") { [logs] _ in logs.report }
    }

    private var setLevel: APIOperation {
        .report(
            .post("/v1/logs"),
            .router,
            "Sets the log level of a component.",
            [
                .query("component", .text(60), "a component, or all", isRequired: true),
                .query("level", .text(20), "a level, or default", isRequired: true),
                .query("seconds", .integer(1...315_360_000), "The duration in seconds. Default: until a reload."),
            ]
        ) { [logs] call in try logs.set(call.query) }
    }

    private var reloading: APIOperation {
        .report(
            .post("/v1/reload"),
            .router,
            "Reloads the configuration. An invalid one is rejected with its errors, and the old one stays active."
        ) { [reload] _ in
            switch await reload() {
            case .done(let restart, let warnings, let refused):
                return ReloadReport(
                    reloaded: true,
                    needsRestart: restart,
                    warnings: warnings.map(\.description),
                    refused: refused.map(\.description)
                )
            case .refused(let mistakes):
                throw APIError(
                    422,
                    "the new configuration has errors; the old one stays active",
                    lists: ["mistakes": mistakes.all.map(\.description)]
                )
            case .busy: throw APIError(409, "another reload is in progress: try again in a moment", retryAfter: 1)
            }
        }
    }
}

extension APIPrincipal {
    fileprivate var isAgent: Bool {
        if case .agent = self { true } else { false }
    }
}

/// The current issues of a running router.
package struct IssueList: OperatorAnswer, Equatable {
    package var issues: [RouterStatus.Issue]

    package var text: String { issues.map { "\($0.message)\n   \($0.fix)" }.joined(separator: "\n") }
}

/// The result of a successful reload.
struct ReloadReport: OperatorAnswer {
    var reloaded: Bool
    /// Keys whose changes require a restart.
    var needsRestart: [String]
    var warnings: [String]
    /// Rejected plugins.
    var refused: [String]

    var text: String { "reloaded" }
}

/// The current log levels.
package struct LogReport: OperatorAnswer, Equatable {
    package struct Component: Codable, Sendable, Equatable {
        /// `all`, or a component's name.
        package var component: String
        package var level: String
        /// Seconds until the setting ends; nil: it lasts until a reload or a restart.
        package var endsIn: Int64?
    }

    /// The level of components without a setting.
    package var level: String
    package var set: [Component]
    /// All components.
    package var components: [String]

    package var text: String {
        var lines = ["level \(level) unless set otherwise"]
        for setting in set {
            let end = setting.endsIn.map { "for \(RouterStatus.span($0)) more" } ?? "until a reload or a restart"
            lines.append("\(setting.component.padded(to: 20))\(setting.level.padded(to: 10))\(end)")
        }
        return (lines + ["components: \(components.joined(separator: ", "))"]).joined(separator: "\n")
    }
}

/// Shows and sets the log levels of a running router.
package struct LogOperations: Sendable {
    private let levels: LogLevels
    private let now: @Sendable () -> Deadline

    package init(levels: LogLevels, now: @escaping @Sendable () -> Deadline = Deadline.now) {
        self.levels = levels
        self.now = now
    }

    package var report: LogReport {
        let now = now()
        return LogReport(
            level: levels.usual.rawValue,
            set: levels.settings.map { setting in
                LogReport.Component(
                    component: setting.component ?? "all",
                    level: setting.level.rawValue,
                    endsIn: setting.until.map { max(0, ($0 - now).seconds) }
                )
            },
            components: LogComponents.all
        )
    }

    /// Sets the level of `component` (a name or `all`) to `level` (or `default`). Throws an ``OperationError``.
    package func set(_ component: String, _ level: String, for span: Duration?) throws(OperationError) -> LogReport {
        var name: String?
        if component != "all" {
            name = LogComponents.named(component)
            guard name != nil else {
                throw .unknown(
                    "there is no component '\(component)'; expected all or one of "
                        + LogComponents.all.joined(separator: ", ")
                )
            }
        }
        if level == "default" {
            levels.reset(name)
            return report
        }
        guard let level = Logger.Level(rawValue: level) else {
            throw .invalid("level: expected default, \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        levels.set(LogLevels.Setting(component: name, level: level, until: span.map { now() + $0 }))
        return report
    }

    /// Sets a level from the parameters of a request.
    func set(_ parameters: [String: String]) throws(OperationError) -> LogReport {
        guard let component = parameters["component"], let level = parameters["level"] else {
            throw .invalid("expected component= and level=")
        }
        return try set(component, level, for: OperatorWords.seconds(parameters))
    }
}
