import Console
import Delivery
import Foundation
import Glibc
import PluginHost
import Registry
import RelayPool
import RouterConfiguration
import Units

/// Puts together how a running router is doing.
package struct StatusReader: Sendable {
    private let configuration: Configuration
    private let health: RouterHealth
    private let counts: RouterCounts
    private let courier: Courier
    private let outbox: Outbox
    private let transports: ActiveTransports
    private let plugins: PluginHost
    private let pool: RelayPool
    private let registry: Registry
    private let issues: StatusIssues
    private let files: OperatorFiles
    /// Deliveries that wait, and that failed for good, in the partitions that the router owns.
    private let partitions: @Sendable () -> (waiting: Int, failed: Int)
    /// Up to when a relay was read, in seconds since 1970.
    private let mark: @Sendable (RelayURL) -> Int64?
    private let now: @Sendable () -> Timestamp

    package init(
        configuration: Configuration,
        health: RouterHealth,
        counts: RouterCounts,
        courier: Courier,
        outbox: Outbox,
        transports: ActiveTransports,
        plugins: PluginHost,
        pool: RelayPool,
        registry: Registry,
        keyCensus: KeyCensus,
        files: OperatorFiles,
        partitions: @escaping @Sendable () -> (waiting: Int, failed: Int) = { (0, 0) },
        mark: @escaping @Sendable (RelayURL) -> Int64?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.health = health
        self.counts = counts
        self.courier = courier
        self.outbox = outbox
        self.transports = transports
        self.plugins = plugins
        self.pool = pool
        self.registry = registry
        issues = StatusIssues(pool: pool, registry: registry, keyCensus: keyCensus)
        self.files = files
        self.partitions = partitions
        self.mark = mark
        self.now = now
    }

    /// The relays that the router knows; with `text` those whose URL contains it, with who is watched there. Throws the
    /// store's errors.
    func relays(containing text: String?) throws -> RelayList {
        let now = now()
        let statuses = pool.status.filter { status in text.map { status.url.text.contains($0) } ?? true }
        let known = Set(statuses.map(\.url))
        // Also those that misbehaved and are not connected to any more.
        let others = pool.conduct.misbehaving.filter { relay in
            !known.contains(relay) && (text.map { relay.text.contains($0) } ?? true)
        }
        var list = RelayList(
            statuses.map { RelayList.Relay($0, pool.conduct[$0.url], readUpTo: mark($0.url), now: now) }
                + others.map { RelayList.Relay(left: $0, pool.conduct[$0], now: now) },
            blocked: registry.access.rules.filter { $0.subject.kind == .relay && $0.isBlock }
        )
        guard text != nil else { return list }
        for index in list.relays.indices {
            list.relays[index].users = try registry.accountsWatched(at: list.relays[index].url)
        }
        return list
    }

    /// Everything at this moment; parts may take `patience` to show that they come round.
    func status(within patience: Duration) async -> RouterStatus {
        let now = now()
        let (totals, rates) = (counts.totals, counts.rates)
        let start = Timestamp(milliseconds: Int64(ProcessFigures.current.startedAt * 1000))
        let overview = PluginOverview(plugins.processReports, refusals: plugins.catalog.refusals)
        let credentials = credentials(now)
        let disk = RouterStatus.Disk(ofStoreAt: configuration.storePath)
        let inPartitions = partitions()
        let shortcomings = await health.readiness(within: patience).shortcomings
        return RouterStatus(
            version: Version.current,
            startedAt: UTCTime(start).stamp,
            uptime: max(0, (now - start).seconds),
            issues: await issues.all(shortcomings, credentials, overview, disk, at: now),
            events: RouterStatus.Flow(total: totals.events, perSecond: rates.eventsPerSecond),
            pushes: RouterStatus.Flow(total: totals.pushes, perSecond: rates.pushesPerSecond),
            latency: RouterStatus.Latency(p50Ms: rates.median?.milliseconds, p99Ms: rates.slowest?.milliseconds),
            waiting: RouterStatus.Waiting(
                deliveries: outbox.count + inPartitions.waiting,
                limit: outbox.limit,
                oldest: oldest.map { max(0, (now - $0).seconds) },
                failed: outbox.deadLetterCount + inPartitions.failed
            ),
            queues: queues,
            relays: relayCounts,
            filters: filters,
            plugins: overview.processes,
            refusedPlugins: overview.refused,
            credentials: credentials,
            disk: disk
        )
    }

    /// Every push service that is configured, also while there is nothing to send, and what else has deliveries.
    private var queues: [RouterStatus.Queue] {
        let transports = transports.current
        var queues: [QueueName: RouterStatus.Queue] = [:]
        for queue in transports.all.keys { queues[queue] = RouterStatus.Queue(QueueStatus(idle: queue)) }
        for status in courier.status { queues[status.queue] = RouterStatus.Queue(status) }
        for failure in transports.failures {
            let queue = QueueName(platform: failure.platform, app: failure.app)
            var failed = queues[queue] ?? RouterStatus.Queue(QueueStatus(idle: queue))
            // The reason is a sentence, and stands among the issues.
            (failed.state, failed.reason, failed.cause, failed.until) = ("failed", nil, nil, nil)
            queues[queue] = failed
        }
        return queues.sorted { $0.key < $1.key }.map(\.value)
    }

    private var oldest: Timestamp? { try? files.outbox.oldest() }

    private var filters: [RouterStatus.Filter] {
        let spared = counts.sparedByFilter
        return Set(configuration.filters.map(\.name)).union(spared.keys).sorted()
            .map { RouterStatus.Filter(name: $0, dropped: spared[$0] ?? 0) }
    }

    private var relayCounts: RouterStatus.Relays {
        pool.status.reduce(into: RouterStatus.Relays()) { relays, status in
            switch status.state {
            case .connected: relays.connected += 1
            case .connecting: relays.connecting += 1
            case .waiting: relays.waiting += 1
            case .idle: relays.idle += 1
            }
        }
    }

    private func credentials(_ now: Timestamp) -> [RouterStatus.Credential] {
        transports.statuses.expiries.map { queue, expiry in
            RouterStatus.Credential(
                platform: queue.platform,
                app: queue.app,
                what: expiry.what,
                endsAt: UTCTime(expiry.at).stamp,
                days: (expiry.at - now).seconds / 86_400
            )
        }
    }
}

extension RouterStatus.Disk {
    /// Of the store at `path` and the databases beside it.
    init(ofStoreAt path: String) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let name = URL(fileURLWithPath: path).lastPathComponent
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        used = files.filter { $0.hasPrefix(name) }.reduce(into: 0) { sum, file in
            var status = stat()
            if stat(folder.path + "/" + file, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                sum += Int64(status.st_size)
            }
        }
        free = Self.free(at: path) ?? 0
    }

    /// Free bytes in the folder of the file at `path`; nil if the system does not tell.
    static func free(at path: String) -> Int64? {
        var system = statvfs()
        guard statvfs(URL(fileURLWithPath: path).deletingLastPathComponent().path, &system) == 0 else { return nil }
        return Int64(clamping: system.f_bavail * UInt(system.f_frsize))
    }
}

extension QueueStatus {
    /// Nothing waits there.
    fileprivate init(idle queue: QueueName) {
        self.init(queue: queue, inFlight: 0, inMemory: 0, waitingForRetry: 0)
    }
}

extension RouterStatus.Queue {
    fileprivate init(_ status: QueueStatus) {
        platform = status.queue.platform
        app = status.queue.app
        state = status.pausedUntil == nil ? "ok" : "paused"
        reason = status.pauseReason
        cause = status.pauseCause.map { $0 == .asked ? "asked" : "misconfigured" }
        until = status.pausedUntil.map { UTCTime($0).stamp }
        waiting = status.waiting
        inFlight = status.inFlight
        retrying = status.waitingForRetry
        pausedHosts = status.pausedHosts
    }
}
