import Delivery
import EventTrace
import Logging
import Nostr
import Operations
import Registry
import RouterConfiguration
import Rules
import Synchronization

/// Says that the router serves, and looks after it while it does: credentials, old traces, patterns, the watchdog.
final class Upkeep: RouterPart {
    private let settings: ActiveSettings
    private let transports: ActiveTransports
    private let accessDeadline: AccessDeadline
    private let trace: TraceStore?
    private let stores: Stores
    private let cluster: ClusterPart?
    private let statistics: StatisticsKeeper
    private let operationalEvents: OperationalEvents
    private let announcer: Announcer
    private let health: RouterHealth
    private let serving: ServingFlag
    private let serviceManager: ServiceManager?
    private let started: @Sendable (Int) -> Void
    private let logger: Logger
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// `started` learns the port of the relay socket.
    init(
        settings: ActiveSettings,
        transports: ActiveTransports,
        accessDeadline: AccessDeadline,
        trace: TraceStore?,
        stores: Stores,
        cluster: ClusterPart?,
        statistics: StatisticsKeeper,
        operationalEvents: OperationalEvents,
        announcer: Announcer,
        health: RouterHealth,
        serving: ServingFlag,
        serviceManager: ServiceManager?,
        started: @escaping @Sendable (Int) -> Void,
        logger: Logger
    ) {
        self.settings = settings
        self.transports = transports
        self.accessDeadline = accessDeadline
        self.trace = trace
        self.stores = stores
        self.cluster = cluster
        self.statistics = statistics
        self.operationalEvents = operationalEvents
        self.announcer = announcer
        self.health = health
        self.serving = serving
        self.serviceManager = serviceManager
        self.started = started
        self.logger = logger
    }

    func start() async {
        let host = settings.configuration.relay.host
        let port = announcer.port ?? 0
        logger.info(
            "Listening",
            metadata: [
                "relay": "\(host):\(port)", "npub": "\(NIP19.npub(stores.registry.keys.names.current.key))",
                "platforms": "\(transports.current.platforms.joined(separator: ", "))",
            ]
        )
        await transports.refreshStatuses()
        announcer.announce()
        serving.set(true)
        started(port)
        serviceManager?.ready("Serving at \(host):\(port)")
        let attendants = attend()
        tasks.withLock { $0 = attendants }
    }

    func stop(_ time: StopBudget) {
        if serving.isSet { logger.info("Stopping") }
        for task in tasks.withLock({ $0 }) { task.cancel() }
        operationalEvents.stop()
        accessDeadline.stop()
        serving.set(false)
        serviceManager?.stopping()
    }

    private func attend() -> [Task<Void, Never>] {
        var tasks = [
            Task { [transports, announcer] in
                while (try? await Task.sleep(for: .seconds(600))) != nil {
                    await transports.refreshStatuses()
                    announcer.announce()
                }
            },
            Task { [settings, logger] in
                await ExpensivePatterns.watch({ settings.rules.exceededPatterns }, logger: logger)
            },
        ]
        tasks.append(
            Task { [stores, cluster, logger] in
                repeat {
                    await onDisk { stores.pruneDeadLetters(with: cluster?.stores.map(\.store) ?? [], logger) }
                } while (try? await Task.sleep(for: .seconds(60))) != nil
            }
        )
        tasks.append(Task { [statistics] in await statistics.run() })
        tasks.append(Task { [operationalEvents] in await operationalEvents.run() })
        if let trace { tasks.append(Task { await trace.dropExpired() }) }
        if let kept = stores.keptEvents {
            tasks.append(
                Task {
                    repeat { kept.dropExpired() } while (try? await Task.sleep(for: .seconds(600))) != nil
                }
            )
        }
        if let serviceManager, let interval = serviceManager.watchdog {
            let watchdog = Watchdog(
                interval: interval,
                stuck: health.stuck(within:),
                alive: serviceManager.alive,
                logger: logger
            )
            tasks.append(Task { await watchdog.run() })
        }
        return tasks
    }
}

/// Whether the router serves: not while it starts or stops.
final class ServingFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}

/// Tells an operator which rules' patterns cost too much for some text, and therefore did not match it.
struct ExpensivePatterns {
    private var reported: [String: UInt64] = [:]

    /// The rules in which it happened since the last call, and how often. `counts` are the totals so far.
    mutating func newCounts(in counts: [String: UInt64]) -> [(rule: String, count: UInt64)] {
        defer { reported = counts }
        return counts.sorted { $0.key < $1.key }.compactMap { rule, count in
            // New rules count from 0 again.
            let known = reported[rule] ?? 0
            let new = count < known ? count : count - known
            return new > 0 ? (rule, new) : nil
        }
    }

    /// Looks once a minute, until the task is cancelled and `pause`, which is that minute, throws.
    static func watch(
        _ counts: @Sendable () -> [String: UInt64],
        logger: Logger,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(60)) }
    ) async {
        var patterns = ExpensivePatterns()
        while (try? await pause()) != nil {
            for (rule, count) in patterns.newCounts(in: counts()) {
                logger.warning(
                    "A rule's pattern was too dear for some texts, and did not match them",
                    metadata: ["rule": "\(rule)", "texts": "\(count)"]
                )
            }
        }
    }
}
