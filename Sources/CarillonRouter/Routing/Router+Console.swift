import Console
import Delivery
import EventTrace
import HTTPLanes
import Listening
import Logging
import NIOCore
import NIOPosix
import Operations
import Pipeline
import PluginHost
import RelayPool
import RouterConfiguration
import Synchronization

extension Router {
    /// Where the API listens; nil before it does, and where there is none.
    package var consolePort: Int? { apiPort.value }

    var isServing: Bool { serving.load(ordering: .relaxed) }

    var health: RouterHealth {
        RouterHealth(
            isServing: { [weak self] in self?.isServing ?? false },
            pipeline: pipeline,
            courier: courier,
            outbox: outbox,
            counts: counts,
            transports: transports,
            pool: pool,
            wantedRelays: Set(configuration.relays.always),
            group: group
        )
    }

    private var metrics: RouterMetrics {
        RouterMetrics(
            counts: counts,
            listeners: listeners,
            filterNames: { [inForce] in inForce.configuration.filters.map(\.name) },
            pipeline: pipeline,
            intake: intake,
            courier: courier,
            outbox: outbox,
            transports: transports,
            pool: pool,
            lanes: lanes,
            trace: trace
        )
    }

    /// Starts the API, where the configuration has one.
    func startConsole() async throws -> ConsoleServer? {
        guard let api = configuration.api, let token = apiToken.value else { return nil }
        let server = ConsoleServer(
            configuration: api.console,
            token: { [apiToken] in apiToken.value ?? token },
            backend: RouterConsole(
                operations: operations,
                health: health,
                metrics: metrics,
                trace: trace,
                reload: reload
            ),
            // One loop: swift-nio's generic decoders do not stand being needed on several for the first time.
            loop: group.next(),
            now: now,
            counts: listeners.api ?? DoorCounts(),
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
}
