import Core
import Delivery
import Observability
import PluginHost
import Push
import RouterConfiguration

/// A detector of operational events that reports each change once. It uses no clock, registry or network.
struct OperationalWatch {
    /// A snapshot of the router.
    struct Snapshot: Sendable {
        var expiries: [(queue: QueueName, expiry: TransportStatus.Expiry)] = []
        var processes: [PluginProcessReport] = []
        /// The URLs of relays whose last messages include `auth-required`.
        var closedRelays: [String] = []
    }

    /// A device to disable.
    struct Suspension: Sendable, Equatable {
        var device: DeviceID
        var queue: QueueName
        /// The start of the time without a successful push.
        var since: Timestamp
        /// Registrations after this time still have their grace period.
        var registeredBefore: Timestamp
    }

    /// The state of a device whose pushes fail.
    private struct Failing {
        let since: Timestamp
        var loggedAt: Timestamp?
        /// The time of the last check whether to disable the device, which reads the disk.
        var checkedAt: Timestamp?
    }

    /// Notices are sent this many days before a credential expires.
    private static let noticeDays: [Int64] = [14, 7, 3, 1, 0]
    /// The minimum time between two notices about one relay.
    private static let relayPause: Duration = .days(1)
    /// The maximum number of watched devices, because unknown clients can register any number.
    private static let maxFailing = 50_000
    /// The minimum time that a device must fail while the router watches it, whatever the registry knows from before.
    private static let leastSight: Duration = .hours(12)

    /// A device is disabled only if a push to another device of its queue succeeded within this time.
    private static let reachSpan: Duration = .days(1)
    private static let checkPause: Duration = .hours(1)

    private let failingSpan: Duration
    /// `nil` if devices are never disabled.
    private let disableSpan: Duration?
    /// The time of the last successful push in each queue.
    private var reached: [QueueName: Timestamp] = [:]
    private var suspensions: [Suspension] = []
    private var pauses: [QueueName: QueuePause] = [:]
    /// The last notice for each credential, in days before its end.
    private var noticed: [QueueName: [TransportStatus.Expiry: Int64]] = [:]
    private var crashCounts: [[String]: Int] = [:]
    private var relays: [String: Timestamp] = [:]
    private var failing: [DeviceID: Failing] = [:]

    /// With `disableDays` 0, devices are never disabled.
    init(failingDays: Int, disableDays: Int = 0) {
        failingSpan = .days(failingDays)
        disableSpan = disableDays == 0 ? nil : .days(disableDays)
    }

    /// Returns and clears the devices to disable.
    mutating func takeSuspensions() -> [Suspension] {
        defer { suspensions = [] }
        return suspensions
    }

    /// Returns the event for a disabled device.
    func disabled(_ suspension: Suspension, at now: Timestamp) -> OperationalEvent {
        var event = OperationalEvent(
            kind: .deviceDisabled,
            time: now,
            words: "device \(suspension.device.rawValue) is disabled, because no push reached it since "
                + suspension.since.words,
            queue: suspension.queue,
            device: suspension.device
        )
        event.details = [("since", suspension.since.rfc3339)]
        return event
    }

    // MARK: Deliveries

    /// `lastSuccess` returns the time of a device's last accepted push or its registration; `nil` if unknown.
    mutating func took(
        _ reports: [DeliveryReport],
        at now: Timestamp,
        lastSuccess: (DeviceID) -> Timestamp?
    ) -> [OperationalEvent] {
        var events: [OperationalEvent] = []
        // Consecutive reports are mostly of one queue.
        var latest: QueueName?
        // Indices avoid copies of the reports, which hold many strings.
        for place in reports.indices {
            switch reports[place].kind {
            case .gone:
                let report = reports[place]
                failing[report.device] = nil
                let (platform, app) = (report.queue.platform, report.queue.app)
                let words = "\(platform)/\(app) says that device \(report.device.rawValue) is gone"
                events.append(event(.deviceGone, now, words, report))
            case .delivered:
                if !failing.isEmpty { failing[reports[place].device] = nil }
                guard reports[place].queue != latest else { continue }
                reached[reports[place].queue] = now
                latest = reports[place].queue
            case .rejected, .retry, .expired:
                if let event = failed(reports[place], at: now, lastSuccess) { events.append(event) }
            default: break
            }
        }
        return events
    }

    private mutating func failed(
        _ report: DeliveryReport,
        at now: Timestamp,
        _ lastSuccess: (DeviceID) -> Timestamp?
    ) -> OperationalEvent? {
        guard var state = failing[report.device] else {
            if failing.count < Self.maxFailing { failing[report.device] = Failing(since: now) }
            return nil
        }
        let isToldLately = state.loggedAt.map { now - $0 < failingSpan } ?? false
        let isToCheck = mayDisable(report.queue, at: now) && state.checkedAt.map { now - $0 >= Self.checkPause } ?? true
        guard now - state.since >= Self.leastSight, !isToldLately || isToCheck else { return nil }
        let since = lastSuccess(report.device).map { min($0, state.since) } ?? state.since
        if isToCheck { state.checkedAt = now }
        failing[report.device] = state
        if let disableSpan, now - since >= disableSpan, mayDisable(report.queue, at: now) {
            suspensions.append(
                Suspension(
                    device: report.device,
                    queue: report.queue,
                    since: since,
                    registeredBefore: now - disableSpan
                )
            )
        }
        guard now - since >= failingSpan, !isToldLately else { return nil }
        state.loggedAt = now
        failing[report.device] = state
        var event = event(
            .deviceFailing,
            now,
            "pushes to device \(report.device.rawValue) have failed since \(since.words)",
            report
        )
        event.details.append(("since", since.rfc3339))
        return event
    }

    private func mayDisable(_ queue: QueueName, at now: Timestamp) -> Bool {
        guard disableSpan != nil, let reached = reached[queue] else { return false }
        return now - reached < Self.reachSpan
    }

    private func event(
        _ kind: OperationalEventKind,
        _ now: Timestamp,
        _ words: String,
        _ report: DeliveryReport
    ) -> OperationalEvent {
        var event = OperationalEvent(kind: kind, time: now, words: words, queue: report.queue, device: report.device)
        if !report.reason.isEmpty { event.details.append(("reason", report.reason)) }
        if report.status != 0 { event.details.append(("status", "\(report.status)")) }
        return event
    }

    // MARK: Queues

    /// Returns `nil` if the pause is only extended.
    mutating func paused(_ pause: QueuePause, at now: Timestamp) -> OperationalEvent? {
        let former = pauses.updateValue(pause, forKey: pause.queue)
        guard former?.cause != pause.cause || former?.reason != pause.reason else { return nil }
        var event = OperationalEvent(
            kind: .queuePaused,
            time: now,
            words: PauseWords.words(TracedPause(pause, since: now)),
            queue: pause.queue
        )
        event.details = [("reason", pause.reason), ("until", pause.until.rfc3339)]
        return event
    }

    /// Returns `nil` if no pause of the queue was reported.
    mutating func resumed(_ queue: QueueName, at now: Timestamp) -> OperationalEvent? {
        guard pauses.removeValue(forKey: queue) != nil else { return nil }
        let words = "\(queue.platform)/\(queue.app) accepts pushes again"
        return OperationalEvent(kind: .queueResumed, time: now, words: words, queue: queue)
    }

    // MARK: Periodic checks

    mutating func look(_ sight: Snapshot, at now: Timestamp) -> [OperationalEvent] {
        expiries(sight, now) + crashes(sight, now) + closed(sight, now)
    }

    private mutating func expiries(_ sight: Snapshot, _ now: Timestamp) -> [OperationalEvent] {
        let former = noticed
        noticed = [:]
        return sight.expiries.compactMap { queue, expiry -> OperationalEvent? in
            let (left, known) = (expiry.at - now, former[queue]?[expiry])
            // The most recent notice that is due.
            let due = Self.noticeDays.last { left <= .days(Int($0)) }
            noticed[queue, default: [:]][expiry] = due ?? known
            guard let due, due != known else { return nil }
            let end = left <= .zero ? "has expired" : "expires at \(expiry.at.words)"
            var event = OperationalEvent(
                kind: .credentialExpiring,
                time: now,
                words: "the \(expiry.what) of \(queue.words) \(end)",
                queue: queue
            )
            event.details = [("what", expiry.what), ("ends_at", expiry.at.rfc3339)]
            return event
        }
    }

    private mutating func crashes(_ sight: Snapshot, _ now: Timestamp) -> [OperationalEvent] {
        sight.processes.compactMap { process -> OperationalEvent? in
            let former = crashCounts.updateValue(process.crashes, forKey: process.plugins) ?? 0
            guard process.crashes > former else { return nil }
            let names = process.plugins.joined(separator: ", ")
            var event = OperationalEvent(
                kind: .pluginCrashed,
                time: now,
                words: "the process of \(names) crashed"
            )
            event.details = [("plugins", names)]
            if let words = process.lastCrash { event.details.append(("reason", words)) }
            return event
        }
    }

    private mutating func closed(_ sight: Snapshot, _ now: Timestamp) -> [OperationalEvent] {
        relays = relays.filter { now - $0.value < Self.relayPause && now >= $0.value }
        return sight.closedRelays.compactMap { relay -> OperationalEvent? in
            guard relays[relay] == nil else { return nil }
            relays[relay] = now
            var event = OperationalEvent(
                kind: .relayAuthRequired,
                time: now,
                words: "\(relay) requires authentication and rejects the router's key"
            )
            event.details = [("relay", relay)]
            return event
        }
    }
}
