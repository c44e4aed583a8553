import Delivery
import Dispatch
import Push
import Synchronization

/// All decisions of the courier, and the tests that wait for more of them.
final class Books: DeliveryObserver {
    struct Record: Sendable {
        var reports: [DeliveryReport] = []
        var pauses: [QueuePause] = []
        var resumed: [QueueName] = []
        var failures: [String] = []

        func of(_ delivery: DeliveryID) -> [DeliveryReport] { reports.filter { $0.delivery == delivery } }
    }

    /// The awaited condition was not met in time.
    struct Overdue: Error, CustomStringConvertible {
        let description: String
    }

    private struct Waiter {
        let id: Int
        let condition: @Sendable (Record) -> Bool
        let continuation: CheckedContinuation<Record?, Never>
    }

    private struct State {
        var record = Record()
        var waiters: [Waiter] = []
        var lastWaiter = 0
    }

    /// In seconds of the machine's time; only a failing test waits that long.
    private static let timeout = 60
    private let state = Mutex(State())

    var record: Record { state.withLock { $0.record } }

    /// Returns the record at the first moment when `condition` holds.
    @discardableResult
    func record(
        when what: String,
        _ condition: @escaping @Sendable (Record) -> Bool
    ) async throws -> Record {
        let found = await withCheckedContinuation { continuation in
            let (record, waiter): (Record?, Int) = state.withLock { state in
                if condition(state.record) { return (state.record, 0) }
                state.lastWaiter += 1
                state.waiters.append(Waiter(id: state.lastWaiter, condition: condition, continuation: continuation))
                return (nil, state.lastWaiter)
            }
            if let record { return continuation.resume(returning: record) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.timeout)) { [weak self] in
                self?.giveUp(waiter)
            }
        }
        guard let found else { throw Overdue(description: "in vain waited until \(what); the books say \(record)") }
        return found
    }

    func deliveriesReported(_ reports: [DeliveryReport]) { change { $0.reports += reports } }

    func queuePaused(_ pause: QueuePause) { change { $0.pauses.append(pause) } }

    func queueResumed(_ queue: QueueName) { change { $0.resumed.append(queue) } }

    func outboxFailed(_ error: any Error) { change { $0.failures.append("\(error)") } }

    private func change(_ body: (inout Record) -> Void) {
        let (record, ready) = state.withLock { state in
            body(&state.record)
            let record = state.record
            let ready = state.waiters.filter { $0.condition(record) }
            state.waiters.removeAll { waiter in ready.contains { $0.id == waiter.id } }
            return (record, ready)
        }
        for waiter in ready { waiter.continuation.resume(returning: record) }
    }

    private func giveUp(_ id: Int) {
        let waiter = state.withLock { state in
            let index = state.waiters.firstIndex { $0.id == id }
            return index.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }
}
