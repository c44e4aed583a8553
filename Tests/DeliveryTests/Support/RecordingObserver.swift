import Dispatch
import Synchronization

@testable import Delivery

/// Records all reports, and lets a test wait for a condition.
final class RecordingObserver: DeliveryObserver {
    struct Record: Sendable {
        var reports: [DeliveryReport] = []
        var pauses: [QueuePause] = []
        var resumed: [QueueName] = []
        var failures = 0

        func ended(_ kind: DeliveryReport.Kind) -> [DeliveryReport] { reports.filter { $0.kind == kind } }
    }

    private struct State {
        var record = Record()
        var waiters: [(condition: @Sendable (Record) -> Bool, continuation: CheckedContinuation<Record, Never>)] = []
    }

    private let state = Mutex(State())

    var record: Record { state.withLock { $0.record } }

    /// Waits until `condition` holds, and returns the record of that moment.
    @discardableResult
    func record(when condition: @escaping @Sendable (Record) -> Bool) async -> Record {
        await withCheckedContinuation { continuation in
            let record: Record? = state.withLock { state in
                if condition(state.record) { return state.record }
                state.waiters.append((condition, continuation))
                return nil
            }
            if let record { continuation.resume(returning: record) }
        }
    }

    func deliveriesReported(_ reports: [DeliveryReport]) { change { $0.reports += reports } }

    func queuePaused(_ pause: QueuePause) { change { $0.pauses.append(pause) } }

    func queueResumed(_ queue: QueueName) { change { $0.resumed.append(queue) } }

    func outboxFailed(_ error: any Error) { change { $0.failures += 1 } }

    private func change(_ body: (inout Record) -> Void) {
        let (record, ready) = state.withLock { state in
            body(&state.record)
            let record = state.record
            let ready = state.waiters.filter { $0.condition(record) }.map(\.continuation)
            state.waiters.removeAll { $0.condition(record) }
            return (record, ready)
        }
        for continuation in ready { continuation.resume(returning: record) }
    }
}

extension SerialMailbox {
    /// Returns when the current work is done.
    func settle() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

extension Courier {
    /// Returns when all input so far has been decided and is on disk.
    func settle() async {
        await mailbox.settle()
        await writer.mailbox.settle()
    }
}
