import Push
import Synchronization

/// Responds as configured: immediately on the caller's thread, or when the test completes the attempt.
final class FakeTransport: Transport {
    struct Attempt: Sendable {
        let delivery: Delivery
        let address: DeviceAddress
        let complete: @Sendable (Outcome) -> Void
    }

    private struct State {
        var attempts: [Attempt] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<[Attempt], Never>)] = []
    }

    private let state = Mutex(State())
    private let answer: @Sendable (Delivery) -> Outcome?
    private let sizes = Mutex<[Int]>([])

    /// `answer` returns the outcome immediately; with nil, the test completes the attempt.
    init(_ answer: @escaping @Sendable (Delivery) -> Outcome? = { _ in nil }) {
        self.answer = answer
    }

    /// The size of each batch.
    var batches: [Int] { sizes.withLock(\.self) }

    var attempts: [Attempt] { state.withLock { $0.attempts } }

    /// Waits until `count` attempts were made.
    func attempts(_ count: Int) async -> [Attempt] {
        await withCheckedContinuation { continuation in
            let attempts: [Attempt]? = state.withLock { state in
                if state.attempts.count >= count { return state.attempts }
                state.waiters.append((count, continuation))
                return nil
            }
            if let attempts { continuation.resume(returning: attempts) }
        }
    }

    func deliver(_ attempts: [DeliveryAttempt]) {
        sizes.withLock { $0.append(attempts.count) }
        for attempt in attempts { make(attempt) }
    }

    private func make(_ attempt: DeliveryAttempt) {
        let (delivery, address, completion) = (attempt.delivery, attempt.address, attempt.completion)
        let (attempts, ready) = state.withLock { state in
            state.attempts.append(Attempt(delivery: delivery, address: address, complete: completion))
            let count = state.attempts.count
            let ready = state.waiters.filter { $0.count <= count }.map(\.continuation)
            state.waiters.removeAll { $0.count <= count }
            return (ready.isEmpty ? [] : state.attempts, ready)
        }
        for continuation in ready { continuation.resume(returning: attempts) }
        if let outcome = answer(delivery) { completion(outcome) }
    }
}
