import Delivery
import NIOCore
import Nostr
import Pipeline
import PluginIsolation
import RelayPool
import Units

/// Whether a running router works: the parts that everything depends on respond, and nothing keeps it from its task.
///
/// `/healthz` and systemd's watchdog ask for stuck parts. `/readyz` asks for everything that keeps pushes of all
/// platforms and apps from going out.
package struct RouterHealth: Sendable {
    private let isServing: @Sendable () -> Bool
    private let pipeline: PipelineThread
    private let courier: Courier
    private let outbox: Outbox
    private let storePath: String
    private let counts: RouterCounts
    private let transports: ActiveTransports
    private let pluginProcesses: @Sendable () -> [PluginProcessReport]
    private let pool: RelayPool
    /// Relays that this router is to be connected to at all times.
    private let wantedRelays: @Sendable () -> Set<RelayURL>
    private let group: any EventLoopGroup
    private let facts: @Sendable () -> HealthFacts

    package init(
        isServing: @escaping @Sendable () -> Bool,
        pipeline: PipelineThread,
        courier: Courier,
        outbox: Outbox,
        storePath: String,
        counts: RouterCounts,
        transports: ActiveTransports,
        pluginProcesses: @escaping @Sendable () -> [PluginProcessReport],
        pool: RelayPool,
        wantedRelays: @escaping @Sendable () -> Set<RelayURL>,
        group: any EventLoopGroup,
        facts: @escaping @Sendable () -> HealthFacts
    ) {
        self.isServing = isServing
        self.pipeline = pipeline
        self.courier = courier
        self.outbox = outbox
        self.storePath = storePath
        self.counts = counts
        self.transports = transports
        self.pluginProcesses = pluginProcesses
        self.pool = pool
        self.wantedRelays = wantedRelays
        self.group = group
        self.facts = facts
    }

    func readiness(within patience: Duration) async -> Readiness {
        var readiness = Readiness()
        readiness.isServing = isServing()
        guard readiness.isServing else { return readiness }
        readiness.stuck = await stuck(within: patience)
        readiness.outboxRows = outbox.count
        readiness.outboxLimit = outbox.limit
        readiness.isOutboxUnwritable = counts.isOutboxUnwritable
        readiness.freeBytes = RouterStatus.Disk.free(at: storePath) ?? .max
        readiness.failures = transports.current.failures.map {
            (QueueName(platform: $0.platform, app: $0.app), $0.reason, $0.hasPlugin)
        }
        readiness.pluginProcesses = pluginProcesses()
        readiness.queues = courier.status
        let wantedRelays = wantedRelays()
        readiness.relays = wantedRelays.count
        let statuses = pool.status
        readiness.connectedRelays = statuses.count { wantedRelays.contains($0.url) && $0.state == .connected }
        readiness.hasSource = counts.hasSeenEvents || statuses.contains(where: \.mayBringEvents)
        readiness.facts = facts()
        return readiness
    }

    /// The parts that do not respond within `patience`, by name: the pipeline's thread, the courier, the event
    /// loops. Empty before and after the router serves, when they rest.
    package func stuck(within patience: Duration) async -> [String] {
        guard isServing() else { return [] }
        var asked: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)] = [
            ("courier", { [courier] in courier.probe($0) }),
            (
                "pipeline",
                { [pipeline] answer in
                    Task { if await pipeline.comesRound(within: patience) { answer() } }
                }
            ),
        ]
        for (number, loop) in group.makeIterator().enumerated() {
            asked.append(("event-loop-\(number)", { loop.execute($0) }))
        }
        return await RollCall.missing(asked, within: patience)
    }
}

extension RelayStatus {
    /// Whether the router watches an account there, and the relay has not failed.
    fileprivate var mayBringEvents: Bool {
        keys > 0 && (state == .connected || state == .connecting || lastFailure == nil)
    }
}
