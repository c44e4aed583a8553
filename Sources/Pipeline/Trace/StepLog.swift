import Logging
import Nostr

/// Counts and logs the steps of one batch. Never holds content, and of an event nothing but its id.
struct StepLog {
    private let logger: Logger
    private(set) var counts: [PipelineStep: Int] = [:]

    init(logger: Logger) {
        self.logger = logger
    }

    mutating func note(_ step: PipelineStep, event: EventID?, reason: @autoclosure () -> String = "") {
        counts[step, default: 0] += 1
        logger.debug(
            "Event",
            metadata: [
                "step": "\(step.rawValue)", "event": "\(event?.hex ?? "")", "reason": "\(reason())",
            ]
        )
    }
}
