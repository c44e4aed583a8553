import Dispatch
import Synchronization

/// Brings messages to the backend in groups, one group at a time, so that one flush of the disk stores many.
final class PushQueue: Sendable {
    private struct Waiting {
        let push: IngressPush
        let answer: CheckedContinuation<IngressAnswer, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isDraining = false
    }

    private let backend: any IngressBackend
    private let capacity: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "carillon.web-ingress")

    /// `capacity` is how many messages may wait; senders of further ones get 503 with Retry-After.
    init(backend: any IngressBackend, capacity: Int) {
        self.backend = backend
        self.capacity = capacity
    }

    /// Returns the backend's answer for `push`.
    func keep(_ push: IngressPush) async -> IngressAnswer {
        await withCheckedContinuation { answer in
            let (isFull, mustDrain) = state.withLock { state in
                guard state.waiting.count < capacity else { return (true, false) }
                state.waiting.append(Waiting(push: push, answer: answer))
                defer { state.isDraining = true }
                return (false, !state.isDraining)
            }
            if isFull { answer.resume(returning: .busy) }
            if mustDrain { queue.async { self.drain() } }
        }
    }

    private func drain() {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                state.isDraining = !state.waiting.isEmpty
                return state.waiting
            }
            guard !batch.isEmpty else { return }
            let answers = backend.keep(batch.map(\.push))
            for (index, waiting) in batch.enumerated() {
                waiting.answer.resume(returning: index < answers.count ? answers[index] : .busy)
            }
        }
    }
}
