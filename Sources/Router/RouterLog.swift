import Core
import Delivery
import Logging
import Operations
import Pipeline
import Push
import Storage
import Synchronization

/// Logs results of events and deliveries for operators. It never receives content, tokens or keys.
final class RouterLog: DeliveryObserver, PipelineObserver {
    let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let refusals = Mutex(RejectTally())
    private let alarm: any Alarm
    private let reports = Mutex((tally: ReportTally(), isAlarmSet: false))

    init(logger: Logger, now: @escaping @Sendable () -> Timestamp, alarm: (any Alarm)? = nil) {
        self.logger = logger
        self.now = now
        self.alarm = alarm ?? DispatchAlarm(now: now)
    }

    func record(_ counts: [PipelineStep: Int]) {
        let refused = refusals.withLock { $0.add(counts, now: now()) }
        guard !refused.isEmpty else { return }
        logger.notice(
            "Refused events",
            metadata: Logger.Metadata(uniqueKeysWithValues: refused.map { ($0.key.rawValue, "\($0.value)") })
        )
    }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let now = now()
        let saysAll = logger.logLevel <= .debug
        // Uses indices, because copying a report retains many strings and most reports are not logged.
        for place in reports.indices where saysAll || reports[place].kind != .delivered {
            let report = reports[place]
            logger.log(
                level: shouldLog(report, now: now) ? .notice : .debug,
                "Delivery",
                metadata: [
                    "delivery": "\(report.delivery)", "device": "\(report.device.rawValue)",
                    "platform": "\(report.queue.platform)", "app": "\(report.queue.app)",
                    "outcome": "\(report.kind.rawValue)",
                    "status": "\(report.status)", "reason": "\(report.reason)", "attempt": "\(report.attempt)",
                ]
            )
        }
    }

    private func shouldLog(_ report: DeliveryReport, now: Timestamp) -> Bool {
        guard report.kind != .delivered else { return false }
        let (shouldLog, mustSetAlarm) = reports.withLock { reports in
            let shouldLog = reports.tally.add(report, now: now)
            defer { reports.isAlarmSet = true }
            return (shouldLog, !reports.isAlarmSet)
        }
        if mustSetAlarm { setAlarm() }
        return shouldLog
    }

    private func setAlarm() {
        alarm.ring(at: now() + ReportTally.interval) { [weak self] in self?.logSuppressed() }
    }

    private func logSuppressed() {
        let (due, isAlarmSet) = reports.withLock { reports in
            let due = reports.tally.takeDue(now: now())
            reports.isAlarmSet = !reports.tally.isEmpty
            return (due, reports.isAlarmSet)
        }
        if isAlarmSet { setAlarm() }
        for (sort, count) in due {
            logger.notice(
                "More deliveries like these",
                metadata: [
                    "count": "\(count)", "platform": "\(sort.queue.platform)", "app": "\(sort.queue.app)",
                    "outcome": "\(sort.kind.rawValue)", "status": "\(sort.status)", "reason": "\(sort.reason)",
                ]
            )
        }
    }

    func queuePaused(_ pause: QueuePause) {
        let metadata: Logger.Metadata = [
            "platform": "\(pause.queue.platform)", "app": "\(pause.queue.app)", "reason": "\(pause.reason)",
        ]
        switch pause.cause {
        case .misconfigured: logger.error("Queue paused: credentials rejected or plugin missing", metadata: metadata)
        case .asked: logger.warning("Queue paused: the push service asked for it", metadata: metadata)
        }
    }

    func queueResumed(_ queue: QueueName) {
        logger.notice("Queue resumed", metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"])
    }

    /// The courier logs this error itself.
    /// Logged once per store: later operations on it fail too and are not logged again.
    @Sendable func damaged(_ fault: StoreError) {
        logger.critical("A database is damaged; writes to it stopped", metadata: ["error": "\(fault)"])
    }
}

/// Counts refused events by reason, and logs each reason at most once a minute, so that a flood of events does not
/// flood the log.
struct RejectTally: Sendable {
    /// The minimum time between two lines with the same reason.
    private static let pause: Duration = .minutes(1)
    private static let refusals: Set<PipelineStep> = [.malformed, .forged, .registrationRefused, .notKept]

    private var unlogged: [PipelineStep: Int] = [:]
    private var loggedAt: [PipelineStep: Timestamp] = [:]

    /// Adds the results of a batch at `now`. Returns the counts to log: for each reason the events since its last line.
    mutating func add(_ counts: [PipelineStep: Int], now: Timestamp) -> [PipelineStep: Int] {
        for (step, count) in counts where Self.refusals.contains(step) { unlogged[step, default: 0] += count }
        guard !unlogged.isEmpty else { return [:] }
        // After a jump back of the clock, logging must not stay silent until the old time.
        let due = unlogged.filter { step, _ in loggedAt[step].map { now < $0 || now - $0 >= Self.pause } ?? true }
        for step in due.keys {
            unlogged[step] = nil
            loggedAt[step] = now
        }
        return due
    }
}

/// Limits log lines about failed deliveries, so that a server that refuses every push does not fill the log.
///
/// The first few reports of each sort are logged in full; after that one line a minute has the count of the rest.
struct ReportTally: Sendable {
    struct Sort: Hashable, Sendable {
        var queue: QueueName
        var kind: DeliveryReport.Kind
        var status: UInt32
        var reason: String
    }

    private struct Count: Sendable {
        var since: Timestamp
        var logged = 0
        var unlogged = 0
    }

    static let interval: Duration = .minutes(1)
    private static let loggedInFull = 5
    /// The maximum of sorts, because reasons come from plugins; more count as `other`.
    private static let maxSorts = 500

    private var counts: [Sort: Count] = [:]

    /// Whether no counts are pending for ``takeDue(now:)``.
    var isEmpty: Bool { counts.isEmpty }

    /// Counts a report at the time `now`. Returns whether to log it in full.
    mutating func add(_ report: DeliveryReport, now: Timestamp) -> Bool {
        var sort = Sort(queue: report.queue, kind: report.kind, status: report.status, reason: report.reason)
        if counts[sort] == nil, counts.count >= Self.maxSorts { (sort.status, sort.reason) = (0, "other") }
        var count = counts[sort] ?? Count(since: now)
        defer { counts[sort] = count }
        guard count.logged >= Self.loggedInFull else {
            count.logged += 1
            return true
        }
        count.unlogged += 1
        return false
    }

    /// Removes and returns the number of unlogged reports of each sort whose minute is over by `now`.
    mutating func takeDue(now: Timestamp) -> [Sort: Int] {
        // After a jump back of the clock, logging must not stay silent until the old time.
        let due = counts.filter { now < $0.value.since || now - $0.value.since >= Self.interval }
        for (sort, count) in due {
            // A sort that continues keeps its count of full lines, so it gets one line a minute.
            counts[sort] = count.unlogged > 0 ? Count(since: now, logged: count.logged) : nil
        }
        return due.mapValues(\.unlogged).filter { $0.value > 0 }
    }
}

extension Logger {
    /// Warns of files with secrets that other users may read.
    func warn(of exposed: ExposedFiles) {
        for file in exposed.found {
            warning(
                "\(file.isFolder ? "The folder of files with secrets" : "A file with secrets") \(file.exposure)",
                metadata: ["file": "\(file.path)", "key": "\(file.key)", "remedy": "\(file.remedy)"]
            )
        }
    }
}
