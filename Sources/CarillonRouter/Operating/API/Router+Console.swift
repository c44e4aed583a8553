import Console
import Delivery
import EventTrace
import HTTPLanes
import Listening
import Logging
import NIOCore
import NIOPosix
import Pipeline
import PluginHost
import RelayPool
import Synchronization

extension Router {
    /// Where the API listens; nil before it does, and where there is none.
    package var consolePort: Int? { apiPort.value }

    var isServing: Bool { serving.load(ordering: .relaxed) }

    var liveness: Liveness { Liveness(pipeline: pipeline, courier: courier, group: group) }

    /// Starts the API, where the configuration has one.
    func startConsole() async throws -> ConsoleServer? {
        guard let api = configuration.api, let token = apiToken.value else { return nil }
        let server = ConsoleServer(
            configuration: api.console,
            token: { [apiToken] in apiToken.value ?? token },
            backend: RouterConsole(router: self),
            // One loop: swift-nio's generic decoders do not stand being needed on several for the first time.
            loop: group.next(),
            now: now,
            counts: doors.api ?? DoorCounts(),
            logger: logger
        )
        do {
            let port = try await server.start()
            apiPort.set(port)
            logger.info("Taking operators' questions", metadata: ["address": "\(api.console.host):\(port)"])
            return server
        } catch {
            throw RouterError.cannotListen("api.listen", host: api.console.host, port: api.console.port, error)
        }
    }

    /// Everything that there is to count, at this moment.
    func metrics() async -> [MetricFamily] {
        let serving = transports.current
        let filters = counts.filters(inForce.configuration.filters.map(\.name))
        return await [MetricFamily.buildInfo] + counts.families + [filters, MetricFamily.trace(lost: trace?.shed)]
            + doors.families + MetricFamily.queues(courier.status)
            + MetricFamily.outbox(rows: outbox.count, limit: outbox.limit) + MetricFamily.intake(intake.backlog)
            + MetricFamily.waiting(pipeline.gauges) + [MetricFamily.relays(pool.status)]
            + MetricFamily.lanes(lanes.snapshot())
            + MetricFamily.requests(transports.requests)
            + [MetricFamily.plugins(serving.all.mapValues(\.statistics)), statuses.family]
            + ProcessFigures.current.families
    }
}
