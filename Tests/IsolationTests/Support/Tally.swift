import Delivery
import Synchronization

/// Counts outcomes by app, and waits for them.
final class Tally: DeliveryObserver {
    struct Count: Sendable {
        var delivered = 0
        var retries = 0
    }

    private struct State {
        var counts: [String: Count] = [:]
        var waiters:
            [(condition: @Sendable ([String: Count]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    subscript(app: String) -> Count { state.withLock { $0.counts[app] ?? Count() } }

    func wait(until condition: @escaping @Sendable ([String: Count]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let holds = state.withLock { state in
                if condition(state.counts) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if holds { continuation.resume() }
        }
    }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let ready = state.withLock { state in
            for report in reports {
                switch report.kind {
                case .delivered: state.counts[report.queue.app, default: Count()].delivered += 1
                case .retry: state.counts[report.queue.app, default: Count()].retries += 1
                default: break
                }
            }
            let counts = state.counts
            let ready = state.waiters.filter { $0.condition(counts) }.map(\.continuation)
            state.waiters.removeAll { $0.condition(counts) }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }
}
