import Delivery
import Logging
import Nostr
import Observability
import Operations
import Registry
import RouterConfiguration
import Rules
import Synchronization

/// Reports that the router is ready, and runs its periodic checks: credentials, old traces, patterns, the watchdog.
final class Maintenance: RouterPart {
    private let plane: DataPlane
    private let control: ControlPlane
    private let announcer: Announcer
    private let serviceManager: ServiceManager?
    private let started: @Sendable (Int) -> Void
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// `started` receives the port of the relay socket.
    init(
        _ plane: DataPlane,
        _ control: ControlPlane,
        _ announcer: Announcer,
        _ serviceManager: ServiceManager?,
        started: @escaping @Sendable (Int) -> Void
    ) {
        (self.plane, self.control, self.announcer) = (plane, control, announcer)
        (self.serviceManager, self.started) = (serviceManager, started)
    }

    private var logger: Logger { plane.environment.logger }
    private var transports: ActiveTransports { plane.outgoing.transports }

    func start() async {
        let host = plane.settings.configuration.relay.host
        let port = plane.sockets.port ?? 0
        logger.info(
            "Listening",
            metadata: [
                "relay": "\(host):\(port)", "npub": "\(NIP19.npub(plane.stores.registry.keys.names.current.key))",
                "platforms": "\(transports.current.platforms.joined(separator: ", "))",
            ]
        )
        await transports.refreshStatuses()
        announcer.announce()
        control.serving.set(true)
        started(port)
        serviceManager?.ready("Serving at \(host):\(port)")
        let attendants = attend()
        tasks.withLock { $0 = attendants }
    }

    func stop(_ time: StopBudget) {
        if control.serving.isSet { logger.info("Stopping") }
        for task in tasks.withLock({ $0 }) { task.cancel() }
        plane.watchers.operationalEvents.stop()
        plane.accessDeadline.stop()
        control.serving.set(false)
        serviceManager?.stopping()
    }

    private func attend() -> [Task<Void, Never>] {
        let (stores, watchers, membership) = (plane.stores, plane.watchers, plane.environment.membership)
        var tasks = [
            Task { [transports, announcer] in
                while (try? await Task.sleep(for: .seconds(600))) != nil {
                    await transports.refreshStatuses()
                    announcer.announce()
                }
            },
            Task { [settings = plane.settings, logger] in
                await ExpensivePatterns.watch({ settings.rules.exceededPatterns }, logger: logger)
            },
            Task { [logger] in
                repeat {
                    await onDisk { stores.pruneDeadLetters(with: membership?.stores.map(\.store) ?? [], logger) }
                } while (try? await Task.sleep(for: .seconds(60))) != nil
            },
            Task { await watchers.statisticsKeeper.run() },
            Task { await watchers.operationalEvents.run() },
        ]
        if let trace = stores.trace { tasks.append(Task { await trace.dropExpired() }) }
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
                stuck: control.health.stuck(within:),
                alive: serviceManager.alive,
                logger: logger
            )
            tasks.append(Task { await watchdog.run() })
        }
        return tasks
    }
}

/// Warns about rules whose patterns were too slow for some texts, and therefore did not match them.
struct ExpensivePatterns {
    private var reported: [String: UInt64] = [:]

    /// The rules with new slow matches since the last call, and how many. `counts` are the totals so far.
    mutating func newCounts(in counts: [String: UInt64]) -> [(rule: String, count: UInt64)] {
        defer { reported = counts }
        return counts.sorted { $0.key < $1.key }.compactMap { rule, count in
            // Counts restart from 0 when the rules are reloaded.
            let known = reported[rule] ?? 0
            let new = count < known ? count : count - known
            return new > 0 ? (rule, new) : nil
        }
    }

    /// Checks once a minute, until the task is cancelled and `pause` (that minute) throws.
    static func watch(
        _ counts: @Sendable () -> [String: UInt64],
        logger: Logger,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(60)) }
    ) async {
        var patterns = ExpensivePatterns()
        while (try? await pause()) != nil {
            for (rule, count) in patterns.newCounts(in: counts()) {
                logger.warning(
                    "A rule's pattern was too slow for some texts and did not match them",
                    metadata: ["rule": "\(rule)", "texts": "\(count)"]
                )
            }
        }
    }
}
