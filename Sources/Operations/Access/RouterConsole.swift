import Console
import Delivery
import Dispatch
import EventTrace
import PluginHost
import Units
import YAMLReading

/// Answers the API's calls for a running router.
package struct RouterConsole: ConsoleBackend {
    /// How long parts may take to show that they come round.
    private static let patience: Duration = .seconds(5)

    private static let reading = DispatchQueue(label: "carillon.console-reading", attributes: .concurrent)

    private let operations: DeviceOperations
    private let users: UserOperations
    private let logs: LogOperations
    private let queue: QueueOperations
    private let statistics: StatisticsOperations
    private let health: RouterHealth
    private let metrics: RouterMetrics
    private let plugins: PluginHost
    private let statusReader: StatusReader
    private let transports: ActiveTransports
    private let reload: @Sendable () async -> ReloadResult
    private let trace: TraceStore?

    /// `trace` is nil where nothing is traced.
    package init(
        operations: DeviceOperations,
        users: UserOperations,
        logs: LogOperations,
        queue: QueueOperations,
        statistics: StatisticsOperations,
        health: RouterHealth,
        metrics: RouterMetrics,
        plugins: PluginHost,
        statusReader: StatusReader,
        transports: ActiveTransports,
        trace: TraceStore?,
        reload: @escaping @Sendable () async -> ReloadResult
    ) {
        self.operations = operations
        self.users = users
        self.logs = logs
        self.queue = queue
        self.statistics = statistics
        self.health = health
        self.metrics = metrics
        self.plugins = plugins
        self.statusReader = statusReader
        self.transports = transports
        self.trace = trace
        self.reload = reload
    }

    package func answer(_ call: ConsoleCall) async -> ConsoleAnswer {
        switch call {
        case .health: await alive()
        case .readiness(let withDetails): await health.readiness(within: Self.patience).answer(details: withDetails)
        case .metrics: .metrics(await metrics.families())
        case .reload: await readAnew()
        case .plugins:
            Self.answer(
                .success(PluginOverview(plugins.processReports, refusals: plugins.catalog.refusals))
            )
        case .status: Self.answer(.success(await statusReader.status(within: Self.patience)))
        case .relays(let text): await onFiles { [statusReader] _ in try statusReader.relays(containing: text) }
        case .users(let parameters): await onFiles { [users] _ in try users.list(UserOperations.Query(parameters)) }
        case .user(let key): await onFiles { [users] _ in try users.show(key) }
        case .accessRules: Self.answer(.success(users.rules))
        case .decide(let verb, let isOfRelays, let parameters):
            await onFiles { [users] _ in
                try users.decide(AccessRequest(verb, isRelay: isOfRelays, parameters))
            }
        case .logs: Self.answer(.success(logs.report))
        case .setLog(let parameters): Self.answer(Result { try logs.set(parameters) })
        case .explain(let event, let recipient):
            await onFiles { [trace] operations in
                trace?.flush()
                return try operations.explain(event, recipient: recipient)
            }
        case .devices(let account, let after): await onFiles { try $0.list(account: account, after: after) }
        case .device(let device): await onFiles { try $0.show(device) }
        case .removeDevice(let device): await onFiles { try $0.remove(device) }
        case .testDevice(let device, let mode): await test(device, mode)
        case .queue(let parameters):
            await onFiles { [queue, trace] _ in
                trace?.flush()
                return try queue.list(parameters)
            }
        case .queued(let id):
            await onFiles { [queue, trace] _ in
                trace?.flush()
                return try queue.show(id)
            }
        case .statistics(let parameters): await onFiles { [statistics] _ in try statistics.report(parameters) }
        case .retryQueue(let parameters): await change { try await queue.retry(parameters) }
        case .dropQueue(let parameters): await change { try await queue.drop(parameters) }
        }
    }

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

    private func onFiles(
        _ read: @escaping @Sendable (DeviceOperations) throws -> any OperatorAnswer
    ) async -> ConsoleAnswer {
        await withCheckedContinuation { continuation in
            // The disk may keep us waiting, which the threads that tasks share must not.
            Self.reading.async { [operations] in
                continuation.resume(returning: Self.answer(Result { try read(operations) }))
            }
        }
    }

    private func change(_ body: () async throws -> any OperatorAnswer) async -> ConsoleAnswer {
        do {
            return Self.answer(.success(try await body()))
        } catch {
            return Self.answer(.failure(error))
        }
    }

    private func test(_ device: Int64, _ mode: String?) async -> ConsoleAnswer {
        await change { try await operations.test(device, mode: mode) }
    }

    private static func answer(_ result: Result<any OperatorAnswer, any Error>) -> ConsoleAnswer {
        switch result {
        case .success(let answer): return ConsoleAnswer(body: answer.json + "\n")
        case .failure(let failure as OperationFailure):
            let status =
                switch failure.kind {
                case .invalid: 400
                case .unknown: 404
                case .unavailable: 503
                }
            return .failure(status, failure.description)
        // May say more than operators' tools should pass on; the log has it.
        case .failure: return .failure(500, "this could not be done; the router's log says why")
        }
    }

    private func alive() async -> ConsoleAnswer {
        let stuck = await health.stuck(within: Self.patience)
        let parts = stuck.map(JSONText.quoted).joined(separator: ",")
        return ConsoleAnswer(
            status: stuck.isEmpty ? 200 : 503,
            body: "{\"alive\":\(stuck.isEmpty),\"stuck\":[\(parts)]}\n"
        )
    }

    private func readAnew() async -> ConsoleAnswer {
        switch await reload() {
        case .done(let restart, let warnings, let refused):
            let keys = restart.map(JSONText.quoted).joined(separator: ",")
            let doubts = warnings.map { JSONText.quoted("\($0)") }.joined(separator: ",")
            let plugins = refused.map { JSONText.quoted("\($0)") }.joined(separator: ",")
            return ConsoleAnswer(
                body: "{\"reloaded\":true,\"needs_restart\":[\(keys)],\"warnings\":[\(doubts)],"
                    + "\"refused\":[\(plugins)]}\n"
            )
        case .refused(let mistakes):
            let all = mistakes.all.map { JSONText.quoted("\($0)") }.joined(separator: ",")
            return ConsoleAnswer(
                status: 422,
                body: "{\"error\":\"the new configuration has mistakes; the old one stays\",\"mistakes\":[\(all)]}\n"
            )
        case .busy:
            return .failure(409, "another reload is under way: try again in a moment")
        }
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
