import Delivery
import Pipeline
import Units

/// Everybody who wants to know what becomes of events and deliveries; told in this order, on the teller's thread.
struct RouterObservers: Sendable {
    let pipeline: [any PipelineObserver]
    let deliveries: [any DeliveryObserver]

    /// The same, and before them somebody who wants to know of deliveries.
    func adding(_ observer: any DeliveryObserver) -> RouterObservers {
        RouterObservers(pipeline: pipeline, deliveries: [observer] + deliveries)
    }
}

extension RouterObservers: PipelineObserver {
    func record(_ counts: [PipelineStep: Int]) {
        for observer in pipeline { observer.record(counts) }
    }

    func filtered(_ counts: [String: Int]) {
        for observer in pipeline { observer.filtered(counts) }
    }

    func leftOut(_ counts: [RuleValue: Int]) {
        for observer in pipeline { observer.leftOut(counts) }
    }

    func trace(_ steps: [TraceStep], at time: Timestamp) {
        for observer in pipeline { observer.trace(steps, at: time) }
    }
}

extension RouterObservers: DeliveryObserver {
    func deliveriesReported(_ reports: [DeliveryReport]) {
        for observer in deliveries { observer.deliveriesReported(reports) }
    }

    func attemptsBegan(_ attempts: [AttemptStart]) {
        for observer in deliveries { observer.attemptsBegan(attempts) }
    }

    func deliveriesPostponed(_ reports: [DeliveryReport]) {
        for observer in deliveries { observer.deliveriesPostponed(reports) }
    }

    func queuePaused(_ pause: QueuePause) {
        for observer in deliveries { observer.queuePaused(pause) }
    }

    func queueResumed(_ queue: QueueName) {
        for observer in deliveries { observer.queueResumed(queue) }
    }

    func outboxFailed(_ error: any Error) {
        for observer in deliveries { observer.outboxFailed(error) }
    }

    func outboxRecovered() {
        for observer in deliveries { observer.outboxRecovered() }
    }
}

/// Tells the pipeline of the ends of deliveries.
struct PaceFeedback: DeliveryObserver {
    let intake: Intake
    let now: @Sendable () -> Timestamp

    func deliveriesReported(_ reports: [DeliveryReport]) {
        intake.ended(PushEnd.all(of: reports, at: now()))
    }

    func queuePaused(_ pause: QueuePause) {}

    func queueResumed(_ queue: QueueName) {}

    func outboxFailed(_ error: any Error) {}
}
