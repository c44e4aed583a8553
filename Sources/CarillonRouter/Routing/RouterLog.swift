import Delivery
import Logging
import Notifications
import Pipeline

/// Tells an operator what became of events and deliveries. Never told content, tokens or keys.
struct RouterLog: DeliveryObserver, PipelineObserver {
    let logger: Logger

    func record(_ counts: [PipelineStep: Int]) {
        let refused = counts.filter { [.malformed, .forged, .registrationRefused, .notKept].contains($0.key) }
        guard !refused.isEmpty else { return }
        logger.notice(
            "Refused events",
            metadata: Logger.Metadata(uniqueKeysWithValues: refused.map { ($0.key.rawValue, "\($0.value)") })
        )
    }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        for report in reports {
            logger.log(
                level: report.kind == .delivered ? .debug : .notice,
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

    func outboxFailed(_ error: any Error) {
        logger.error("The outbox cannot be written or read; nothing is lost", metadata: ["error": "\(error)"])
    }
}
