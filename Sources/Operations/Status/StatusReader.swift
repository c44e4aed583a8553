import Console
import Core
import Delivery
import Foundation
import Glibc
import PluginHost
import Registry
import Relays
import RouterConfiguration

/// Collects the status of a running router.
package struct StatusReader: Sendable {
    let configuration: Configuration
    let health: RouterHealth
    private let issues: StatusIssues
    let files: OperatorFiles
    /// Returns the numbers of waiting and failed deliveries in the partitions that the router owns.
    private let partitions: @Sendable () -> (waiting: Int, failed: Int)
    /// Returns the time up to which a relay was read, in seconds since 1970; `nil` if it was never read completely.
    private let mark: @Sendable (RelayURL) -> Int64?
    private let now: @Sendable () -> Timestamp

    package init(
        _ health: RouterHealth,
        _ configuration: Configuration,
        files: OperatorFiles,
        partitions: @escaping @Sendable () -> (waiting: Int, failed: Int) = { (0, 0) },
        mark: @escaping @Sendable (RelayURL) -> Int64?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.health, self.configuration, self.files) = (health, configuration, files)
        issues = StatusIssues(health.incoming)
        (self.partitions, self.mark, self.now) = (partitions, mark, now)
    }

    package var incoming: IncomingParts { health.incoming }
    private var outgoing: OutgoingParts { health.outgoing }

    /// Returns the known relays. With `text`, only those whose URL contains it, with their numbers of accounts. Throws
    /// the store's errors.
    func relays(containing text: String?) throws -> RelayList {
        let now = now()
        let statuses = incoming.pool.status.filter { status in text.map { status.url.text.contains($0) } ?? true }
        let known = Set(statuses.map(\.url))
        // Includes misbehaving relays that are no longer connected.
        let others = incoming.pool.behavior.misbehaving.filter { relay in
            !known.contains(relay) && (text.map { relay.text.contains($0) } ?? true)
        }
        var list = RelayList(
            statuses.map { RelayList.Relay($0, incoming.pool.behavior[$0.url], readUpTo: mark($0.url), now: now) }
                + others.map { RelayList.Relay(left: $0, incoming.pool.behavior[$0], now: now) },
            blocked: incoming.registry.access.rules.filter { $0.subject.kind == .relay && $0.isBlock }
        )
        guard text != nil else { return list }
        for index in list.relays.indices {
            list.relays[index].users = try incoming.registry.accountsWatched(at: list.relays[index].url)
        }
        return list
    }

    /// Returns the current status. `timeout` is the timeout for the check of the router's parts.
    func status(within timeout: Duration) async -> RouterStatus {
        let now = now()
        let (totals, rates) = (incoming.counts.totals, incoming.counts.rates)
        let start = Timestamp(milliseconds: Int64(ProcessFigures.current.startedAt * 1000))
        let overview = PluginOverview(outgoing.plugins.processReports, refusals: outgoing.plugins.catalog.refusals)
        let credentials = credentials(now)
        let disk = RouterStatus.Disk(ofStoreAt: configuration.storePath)
        let inPartitions = partitions()
        let problems = await health.readiness(within: timeout).issues
        return RouterStatus(
            version: Version.current,
            startedAt: start.rfc3339,
            uptime: max(0, (now - start).seconds),
            issues: await issues.all(problems, credentials, overview, disk, at: now),
            events: RouterStatus.Flow(total: totals.events, perSecond: rates.eventsPerSecond),
            pushes: RouterStatus.Flow(total: totals.pushes, perSecond: rates.pushesPerSecond),
            latency: RouterStatus.Latency(p50Ms: rates.median?.milliseconds, p99Ms: rates.slowest?.milliseconds),
            waiting: RouterStatus.Waiting(
                deliveries: outgoing.outbox.count + inPartitions.waiting,
                limit: outgoing.outbox.limit,
                oldest: oldest.map { max(0, (now - $0).seconds) },
                failed: outgoing.outbox.deadLetterCount + inPartitions.failed
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

    /// All configured push services, even without deliveries, and all other queues with deliveries.
    private var queues: [RouterStatus.Queue] {
        let transports = outgoing.transports.current
        var queues: [QueueName: RouterStatus.Queue] = [:]
        for queue in transports.all.keys { queues[queue] = RouterStatus.Queue(QueueStatus(queue: queue)) }
        for status in outgoing.courier.status { queues[status.queue] = RouterStatus.Queue(status) }
        for failure in transports.failures {
            let queue = QueueName(platform: failure.platform, app: failure.app)
            var failed = queues[queue] ?? RouterStatus.Queue(QueueStatus(queue: queue))
            // The reason is a sentence, which is shown as an issue.
            (failed.state, failed.reason, failed.cause, failed.until) = ("failed", nil, nil, nil)
            queues[queue] = failed
        }
        return queues.sorted { $0.key < $1.key }.map(\.value)
    }

    private var oldest: Timestamp? { try? files.outbox.oldest() }

    private var filters: [RouterStatus.Filter] {
        let spared = incoming.counts.droppedByFilter
        return Set(configuration.filters.map(\.name)).union(spared.keys).sorted()
            .map { RouterStatus.Filter(name: $0, dropped: spared[$0] ?? 0) }
    }

    private var relayCounts: RouterStatus.Relays {
        incoming.pool.status.reduce(into: RouterStatus.Relays()) { relays, status in
            switch status.state {
            case .connected: relays.connected += 1
            case .connecting: relays.connecting += 1
            case .waiting: relays.waiting += 1
            case .idle: relays.idle += 1
            }
        }
    }

    private func credentials(_ now: Timestamp) -> [RouterStatus.Credential] {
        outgoing.transports.statuses.expiries.map { queue, expiry in
            RouterStatus.Credential(
                platform: queue.platform,
                app: queue.app,
                what: expiry.what,
                endsAt: expiry.at.rfc3339,
                days: RouterStatus.Credential.days(until: expiry.at, from: now)
            )
        }
    }
}

extension RouterStatus.Credential {
    /// The whole days until `end`, rounded down: negative as soon as it has passed.
    static func days(until end: Timestamp, from now: Timestamp) -> Int64 {
        let seconds = (end - now).seconds
        return (seconds < 0 ? seconds - 86_399 : seconds) / 86_400
    }
}

extension RouterStatus.Disk {
    /// The usage of the store at `path` and the databases next to it.
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

    /// Returns the free bytes on the disk of the file at `path`; `nil` if unknown.
    static func free(at path: String) -> Int64? {
        var system = statvfs()
        guard statvfs(URL(fileURLWithPath: path).deletingLastPathComponent().path, &system) == 0 else { return nil }
        return Int64(clamping: system.f_bavail * UInt(system.f_frsize))
    }
}

extension RouterStatus.Queue {
    fileprivate init(_ status: QueueStatus) {
        platform = status.queue.platform
        app = status.queue.app
        state = status.pause == nil ? "ok" : "paused"
        reason = status.pause?.reason
        cause = (status.pause?.cause).map { $0 == .asked ? "asked" : "misconfigured" }
        until = (status.pause?.until).map(\.rfc3339)
        waiting = status.waiting
        inFlight = status.inFlight
        retrying = status.waitingForRetry
        pausedHosts = status.pausedHosts
    }
}
