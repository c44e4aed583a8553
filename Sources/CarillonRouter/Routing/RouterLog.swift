import Delivery
import Logging
import Notifications
import Pipeline
import Storage
import Synchronization

/// Tells an operator what became of events and deliveries. Never told content, tokens or keys.
final class RouterLog: DeliveryObserver, PipelineObserver {
    let logger: Logger
    private let now: @Sendable () -> Int64
    private let refusals = Mutex(RefusalTally())
    private let alarm: any Alarm
    private let reports = Mutex((tally: ReportTally(), isAlarmSet: false))

    /// `now` is in milliseconds since 1970.
    init(logger: Logger, now: @escaping @Sendable () -> Int64, alarm: (any Alarm)? = nil) {
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
        for report in reports {
            logger.log(
                level: isWorthALine(report, now: now) ? .notice : .debug,
                "Delivery",
                metadata: [
                    "delivery": "\(report.delivery)", "device": "\(report.device.rawValue)",
                    "platform": "\(report.queue.platform)", "app": "\(report.queue.app)",
                    "outcome": "\(report.kind.name)",
                    "status": "\(report.status)", "reason": "\(report.reason)", "attempt": "\(report.attempt)",
                ]
            )
        }
    }

    private func isWorthALine(_ report: DeliveryReport, now: Int64) -> Bool {
        guard report.kind != .delivered else { return false }
        let (isWorthALine, mustSetAlarm) = reports.withLock { reports in
            let isWorthALine = reports.tally.add(report, now: now)
            defer { reports.isAlarmSet = true }
            return (isWorthALine, !reports.isAlarmSet)
        }
        if mustSetAlarm { setAlarm() }
        return isWorthALine
    }

    private func setAlarm() {
        alarm.ring(at: now() + ReportTally.interval) { [weak self] in self?.tellRepeats() }
    }

    private func tellRepeats() {
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
                    "outcome": "\(sort.kind.name)", "status": "\(sort.status)", "reason": "\(sort.reason)",
                ]
            )
        }
    }

    func queuePaused(_ pause: QueuePause) {
        let metadata: Logger.Metadata = [
            "platform": "\(pause.queue.platform)", "app": "\(pause.queue.app)", "reason": "\(pause.reason)",
        ]
        switch pause.cause {
        case .misconfigured: logger.error("Deliveries wait for a human", metadata: metadata)
        case .asked: logger.warning("Deliveries wait as the push service asked", metadata: metadata)
        }
    }

    func queueResumed(_ queue: QueueName) {
        logger.notice("Deliveries go on", metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"])
    }

    /// The courier says it itself.
    func outboxFailed(_ error: any Error) {}

    /// Once a store: what is tried on it afterwards fails and is not told again.
    @Sendable func damaged(_ fault: StoreFault) {
        logger.critical("A database is damaged; nothing is written to it any more", metadata: ["error": "\(fault)"])
    }
}
