import Core
import Delivery
import Observability
import PluginHost
import Push
import RouterConfiguration

/// Notices what an operator may want to be told, once each time. Knows no clock, registry or network.
struct OperationalWatch {
    /// What is to be seen of the router at a moment.
    struct Sight: Sendable {
        var expiries: [(queue: QueueName, expiry: TransportStatus.Expiry)] = []
        var processes: [PluginProcessReport] = []
        /// Relays that asked us to sign in and then kept to themselves what we wanted, by URL.
        var closedRelays: [String] = []
    }

    /// A device that is to be switched off.
    struct Suspension: Sendable, Equatable {
        var device: DeviceID
        var queue: QueueName
        /// Since when nothing reached it.
        var since: Timestamp
        /// What was registered later has its days before it yet.
        var registeredBefore: Timestamp
    }

    /// What is known of a device whose pushes fail.
    private struct Failing {
        let since: Timestamp
        var toldAt: Timestamp?
        /// When it was looked up last, which reads the disk.
        var checkedAt: Timestamp?
    }

    /// So many days before a credential ends it is told.
    private static let noticeDays: [Int64] = [14, 7, 3, 1, 0]
    /// A relay is not told of again before that.
    private static let relayPause: Duration = .days(1)
    /// Devices that are watched; strangers can register any number.
    private static let mostFailing = 50_000
    /// A device must have failed for that long within our sight, whatever is known from before.
    private static let leastSight: Duration = .hours(12)

    /// Others on the same platform must have been reached within that time: else the fault is not the device's.
    private static let reachSpan: Duration = .days(1)
    private static let checkPause: Duration = .hours(1)

    private let failingSpan: Duration
    /// Nil: no device is switched off.
    private let disableSpan: Duration?
    /// When some device of a queue was reached last.
    private var reached: [QueueName: Timestamp] = [:]
    private var suspensions: [Suspension] = []
    private var pauses: [QueueName: QueuePause] = [:]
    /// The notice that was given of each credential, in days.
    private var noticed: [QueueName: [TransportStatus.Expiry: Int64]] = [:]
    private var deaths: [[String]: Int] = [:]
    private var relays: [String: Timestamp] = [:]
    private var failing: [DeviceID: Failing] = [:]

    /// `disableDays` of 0: no device is switched off.
    init(failingDays: Int, disableDays: Int = 0) {
        failingSpan = .days(failingDays)
        disableSpan = disableDays == 0 ? nil : .days(disableDays)
    }

    /// Devices that are to be switched off.
    mutating func takeSuspensions() -> [Suspension] {
        defer { suspensions = [] }
        return suspensions
    }

    /// What is called when that is done.
    func disabled(_ suspension: Suspension, at now: Timestamp) -> OperationalEvent {
        var event = OperationalEvent(
            kind: .deviceDisabled,
            time: now,
            words: "device \(suspension.device.rawValue) is switched off, as nothing reached it since "
                + suspension.since.words,
            queue: suspension.queue,
            device: suspension.device
        )
        event.details = [("since", suspension.since.rfc3339)]
        return event
    }

    // MARK: Deliveries

    /// `lastSuccess` is when a push to a device was accepted last, or when it was registered; nil: that is not known.
    mutating func took(
        _ reports: [DeliveryReport],
        at now: Timestamp,
        lastSuccess: (DeviceID) -> Timestamp?
    ) -> [OperationalEvent] {
        var events: [OperationalEvent] = []
        // Most are of one queue, one after the other.
        var latest: QueueName?
        // By their places, since a report is many texts.
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
            if failing.count < Self.mostFailing { failing[report.device] = Failing(since: now) }
            return nil
        }
        let isToldLately = state.toldAt.map { now - $0 < failingSpan } ?? false
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
        state.toldAt = now
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

    /// Nil for a pause that goes on.
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

    /// Nil for a queue that nobody was told of.
    mutating func resumed(_ queue: QueueName, at now: Timestamp) -> OperationalEvent? {
        guard pauses.removeValue(forKey: queue) != nil else { return nil }
        let words = "\(queue.platform)/\(queue.app) takes pushes again"
        return OperationalEvent(kind: .queueResumed, time: now, words: words, queue: queue)
    }

    // MARK: What is looked at now and then

    mutating func look(_ sight: Sight, at now: Timestamp) -> [OperationalEvent] {
        expiries(sight, now) + crashes(sight, now) + closed(sight, now)
    }

    private mutating func expiries(_ sight: Sight, _ now: Timestamp) -> [OperationalEvent] {
        let former = noticed
        noticed = [:]
        return sight.expiries.compactMap { queue, expiry -> OperationalEvent? in
            let (left, known) = (expiry.at - now, former[queue]?[expiry])
            // The nearest notice that is due.
            let due = Self.noticeDays.last { left <= .days(Int($0)) }
            noticed[queue, default: [:]][expiry] = due ?? known
            guard let due, due != known else { return nil }
            let end = left <= .zero ? "has ended" : "ends at \(expiry.at.words)"
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

    private mutating func crashes(_ sight: Sight, _ now: Timestamp) -> [OperationalEvent] {
        sight.processes.compactMap { process -> OperationalEvent? in
            let former = deaths.updateValue(process.deaths, forKey: process.plugins) ?? 0
            guard process.deaths > former else { return nil }
            let names = process.plugins.joined(separator: ", ")
            var event = OperationalEvent(
                kind: .pluginCrashed,
                time: now,
                words: "the process of \(names) ended by itself"
            )
            event.details = [("plugins", names)]
            if let words = process.lastDeath { event.details.append(("reason", words)) }
            return event
        }
    }

    private mutating func closed(_ sight: Sight, _ now: Timestamp) -> [OperationalEvent] {
        relays = relays.filter { now - $0.value < Self.relayPause && now >= $0.value }
        return sight.closedRelays.compactMap { relay -> OperationalEvent? in
            guard relays[relay] == nil else { return nil }
            relays[relay] = now
            var event = OperationalEvent(
                kind: .relayAuthRequired,
                time: now,
                words: "\(relay) answers to those alone who sign in, and does not take the router's key"
            )
            event.details = [("relay", relay)]
            return event
        }
    }
}
