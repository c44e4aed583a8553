import Logging
import Nostr
import Notifications

/// Counts, logs and traces the steps of one batch. Never holds content, and of an event nothing but its id.
struct StepLog {
    private let logger: Logger
    private(set) var counts: [PipelineStep: Int] = [:]
    /// In the order in which they were taken.
    private(set) var trace: [TraceStep] = []

    init(logger: Logger) {
        self.logger = logger
    }

    /// Says what is known at that place: `account` where the step is about one account, `device` where it is about one of its
    /// devices, `delivery` once there is one.
    mutating func note(
        _ step: PipelineStep,
        event: EventID?,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        delivery: String? = nil,
        reason: @autoclosure () -> String = ""
    ) {
        counts[step, default: 0] += 1
        logger.debug(
            "Event",
            metadata: [
                "step": "\(step.rawValue)", "event": "\(event?.hex ?? "")",
                "device": "\(device.map { "\($0.rawValue)" } ?? "")", "delivery": "\(delivery ?? "")",
                "reason": "\(reason())",
            ]
        )
        // What happens to events that concern nobody, and to copies, happens too often.
        guard let event, step.isTraced || account != nil else { return }
        trace.append(
            TraceStep(
                step: step,
                event: event,
                account: account,
                device: device,
                delivery: delivery,
                reason: reason()
            )
        )
    }
}
