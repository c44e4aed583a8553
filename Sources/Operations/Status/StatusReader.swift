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
        (self.partitions, self.mark, self.now) = (partitions, mark, now)
    }

    /// The plugin processes, and the plugins that were rejected.
    var plugins: PluginOverview {
        PluginOverview(health.outgoing.plugins.processReports, refusals: health.outgoing.plugins.catalog.refusals)
    }

    /// Returns the known relays. With `text`, only those whose URL contains it, with their numbers of accounts. Throws
    /// the store's errors.
    func relays(containing text: String?) throws -> RelayList {
        let now = now()
        let statuses = health.incoming.pool.status.filter { status in text.map { status.url.text.contains($0) } ?? true
        }
        let known = Set(statuses.map(\.url))
        // Includes misbehaving relays that are no longer connected.
        let others = health.incoming.pool.behavior.misbehaving.filter { relay in
            !known.contains(relay) && (text.map { relay.text.contains($0) } ?? true)
        }
        var list = RelayList(
            statuses.map {
                RelayList.Relay($0, health.incoming.pool.behavior[$0.url], readUpTo: mark($0.url), now: now)
            }
                + others.map { RelayList.Relay(left: $0, health.incoming.pool.behavior[$0], now: now) },
            blocked: health.incoming.registry.access.rules.filter { $0.subject.kind == .relay && $0.isBlock }
        )
        guard text != nil else { return list }
        for index in list.relays.indices {
            list.relays[index].users = try health.incoming.registry.accountsWatched(at: list.relays[index].url)
        }
        return list
    }

    /// Returns the current status. `timeout` is the timeout for the check of the router's parts.
    func status(within timeout: Duration) async -> RouterStatus {
        let now = now()
        let (totals, rates) = (health.incoming.counts.totals, health.incoming.counts.rates)
        let start = Timestamp(milliseconds: Int64(ProcessFigures.current.startedAt * 1000))
        let overview = plugins
        let credentials = credentials(now)
        let disk = RouterStatus.Disk(ofStoreAt: configuration.store.path)
        let inPartitions = partitions()
        let problems = await health.readiness(within: timeout).issues
        return RouterStatus(
            version: Version.current,
            startedAt: start.rfc3339,
            uptime: max(0, (now - start).seconds),
            issues: await issues(problems, credentials, overview, disk, at: now),
            events: RouterStatus.Flow(total: totals.events, perSecond: rates.eventsPerSecond),
            pushes: RouterStatus.Flow(total: totals.pushes, perSecond: rates.pushesPerSecond),
            latency: RouterStatus.Latency(p50Ms: rates.median?.milliseconds, p99Ms: rates.slowest?.milliseconds),
            waiting: RouterStatus.Waiting(
                deliveries: health.outgoing.outbox.count + inPartitions.waiting,
                limit: health.outgoing.outbox.limit,
                oldest: oldest.map { max(0, (now - $0).seconds) },
                failed: health.outgoing.outbox.deadLetterCount + inPartitions.failed
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
        let transports = health.outgoing.transports.current
        var queues: [QueueName: RouterStatus.Queue] = [:]
        for queue in transports.all.keys { queues[queue] = RouterStatus.Queue(QueueStatus(queue: queue)) }
        for status in health.outgoing.courier.status { queues[status.queue] = RouterStatus.Queue(status) }
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
        let spared = health.incoming.counts.droppedByFilter
        return Set(configuration.filters.map(\.name)).union(spared.keys).sorted()
            .map { RouterStatus.Filter(name: $0, dropped: spared[$0] ?? 0) }
    }

    private var relayCounts: RouterStatus.Relays {
        health.incoming.pool.status.reduce(into: RouterStatus.Relays()) { relays, status in
            switch status.state {
            case .connected: relays.connected += 1
            case .connecting: relays.connecting += 1
            case .waiting: relays.waiting += 1
            case .idle: relays.idle += 1
            }
        }
    }

    private func credentials(_ now: Timestamp) -> [RouterStatus.Credential] {
        health.outgoing.transports.statuses.expiries.map { queue, expiry in
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

/// The issues of a running router with their fixes.
extension StatusReader {
    /// A credential is an issue from this many days before its expiry.
    private static let noticeDays: Int64 = 14
    /// The minimum free disk space in bytes; less is an issue.
    private static let leastFree: Int64 = 512 << 20

    /// Returns all issues, with those that stop pushes first.
    private func issues(
        _ health: [RouterStatus.Issue],
        _ credentials: [RouterStatus.Credential],
        _ plugins: PluginOverview,
        _ disk: RouterStatus.Disk,
        at now: Timestamp
    ) async -> [RouterStatus.Issue] {
        // A full disk already has its own issue.
        let nearlyFull = health.contains { $0.code == "disk-full" } ? [] : Self.nearlyFull(disk)
        let all =
            health + Self.ending(credentials) + Self.refusedAndCrashed(plugins) + nearlyFull
            + misbehavingRelays(now) + downRelays + (await formerKey(now))
        return all.filter { $0.severity == .error } + all.filter { $0.severity == .warning }
    }

    private static func ending(_ credentials: [RouterStatus.Credential]) -> [RouterStatus.Issue] {
        credentials.filter { $0.days < noticeDays }.map { credential in
            let end = credential.days < 0 ? "has ended" : "ends in \(credential.days) days"
            return RouterStatus.Issue(
                "credential-expiring",
                [
                    "credential": credential.what, "queue": "\(credential.platform)/\(credential.app)",
                    "at": credential.endsAt,
                ],
                message: "the \(credential.what) of \(credential.platform) in app \(credential.app) \(end)",
                fix: "get a new one, replace the old one, and run: carillon reload",
                severity: credential.days < 0 ? .error : .warning
            )
        }
    }

    private static func refusedAndCrashed(_ plugins: PluginOverview) -> [RouterStatus.Issue] {
        let refused = plugins.refused.map { refusal in
            RouterStatus.Issue(
                "plugin-refused",
                ["detail": refusal],
                message: "a plugin was refused: \(refusal)",
                fix: "carillon plugin list shows the reason; carillon plugin check FILE tests it"
            )
        }
        let abandoned = plugins.processes.filter { $0.abandoned > 0 }.map { process in
            RouterStatus.Issue(
                "plugin-crashed",
                [
                    "plugins": process.plugins.joined(separator: ", "), "count": "\(process.abandoned)",
                    "detail": process.lastCrash ?? "",
                ],
                message:
                    "\(process.plugins.joined(separator: ", ")) crashed; \(process.abandoned) deliveries were given up",
                fix: process.lastCrash ?? "carillon plugin list tells more"
            )
        }
        return refused + abandoned
    }

    /// Configured relays that are down while others are up. If all are down, the router is not ready.
    private var downRelays: [RouterStatus.Issue] {
        let own = health.incoming.pool.status.filter(\.isOperators)
        guard own.contains(where: { $0.state == .connected }) else { return [] }
        return own.compactMap { status in
            guard case .waiting = status.state, !status.isRenewing, let failure = status.lastFailure else { return nil }
            return RouterStatus.Issue(
                "relay-down",
                ["relay": status.url.text, "failure": failure.rawValue],
                message: "\(status.url.text) is not connected (\(failure.rawValue)); the router retries automatically",
                fix: "carillon relays show \(status.url.text) shows its last message"
            )
        }
    }

    private func misbehavingRelays(_ now: Timestamp) -> [RouterStatus.Issue] {
        let misbehaving = health.incoming.pool.behavior.misbehaving
        guard !misbehaving.isEmpty else { return [] }
        let sorts = Set(misbehaving.flatMap { health.incoming.pool.behavior[$0]?.misbehaviour(at: now) ?? [] })
        let violations = RelayViolation.allCases.filter { sorts.contains($0) }
        let words = violations.map(\.words).joined(separator: ", ")
        let count = misbehaving.count == 1 ? "a relay misbehaves" : "\(misbehaving.count) relays misbehave"
        return [
            RouterStatus.Issue(
                "relay-misbehaves",
                ["count": "\(misbehaving.count)", "violations": violations.map(\.rawValue).joined(separator: ", ")],
                message: "\(count): \(words)",
                fix: "carillon relays list --misbehaving names them; carillon relays block URL keeps users' away"
            )
        ]
    }

    /// The issue of devices that are still registered to the router's former key, which retires.
    private func formerKey(_ now: Timestamp) async -> [RouterStatus.Issue] {
        guard let former = health.incoming.registry.keys.names.former, let date = former.retiresAt,
            let devices = await health.incoming.keys.devices()
        else { return [] }
        let (left, all) = (devices[former.number] ?? 0, devices.values.reduce(0, +))
        let isOver = date <= now
        guard left > 0 || isOver || !health.incoming.registry.isResealed else { return [] }
        let end = "\(isOver ? "retired" : "retires") at \(date.words)"
        let fix =
            health.incoming.registry.isResealed
            ? "carillon keys show --config FILE says more; carillon keys rotate --for 30d sets another date"
            : "stop the router and run carillon keys rotate, which finishes resealing the registry"
        return [
            RouterStatus.Issue(
                "former-key",
                kind: health.incoming.registry.isResealed ? "former-key" : "former-key-unsealed",
                ["count": "\(left)", "all": "\(all)", "at": date.rfc3339],
                message: "\(left) of \(all) devices are registered to a former key of the router, which \(end)",
                fix: fix
            )
        ]
    }

    private static func nearlyFull(_ disk: RouterStatus.Disk) -> [RouterStatus.Issue] {
        guard disk.free < leastFree else { return [] }
        return [
            RouterStatus.Issue(
                "disk-nearly-full",
                ["mebibytes": "\(disk.free >> 20)"],
                message: "\(disk.free >> 20) MiB are free where the databases lie",
                fix: "make room; when it is full, events are refused until there is some"
            )
        ]
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
