import Delivery
import Dispatch
import Synchronization

/// Counts what ended.
final class CountingObserver: DeliveryObserver {
    private let ended = Atomic<Int>(0)
    private let all = DispatchSemaphore(value: 0)
    private let expected: Int

    init(expected: Int) {
        self.expected = expected
    }

    func wait() { all.wait() }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let count = ended.add(reports.count, ordering: .relaxed).newValue
        if count == expected { all.signal() }
    }

    func queuePaused(_ pause: QueuePause) {}

    func queueResumed(_ queue: QueueName) {}

    func outboxFailed(_ error: any Error) { print("outbox failed: \(error)") }
}
