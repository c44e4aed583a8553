import Delivery
import Pipeline

/// Tells the pipeline of the ends of deliveries.
struct PaceFeedback: DeliveryObserver {
    let intake: Intake
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let moment = now()
        intake.ended(reports.compactMap { PushEnd($0, at: moment) })
    }

    func queuePaused(_ pause: QueuePause) {}

    func queueResumed(_ queue: QueueName) {}

    func outboxFailed(_ error: any Error) {}
}
