import Dispatch
import Synchronization
import WakeUps

/// Takes messages from any thread and hands them out in order, in batches, one batch at a time, on a queue of its own.
///
/// Posting takes one short lock and wakes the queue when that is idle, by ``WakeUps``. Never calls out on the poster's
/// thread.
final class SerialMailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isScheduled = false
        var receive: (@Sendable ([Message]) -> Void)?

        /// Returns whether the caller has to start the queue.
        mutating func schedule() -> Bool {
            guard !isScheduled, receive != nil, !messages.isEmpty else { return false }
            isScheduled = true
            return true
        }
    }

    private let state = Mutex(State())
    let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Begins to hand out messages, first those posted before.
    func open(_ receive: @escaping @Sendable ([Message]) -> Void) {
        let schedule = state.withLock { state in
            state.receive = receive
            return state.schedule()
        }
        if schedule { queue.async { self.drain() } }
    }

    func post(_ message: Message) {
        let schedule = state.withLock { state in
            state.messages.append(message)
            return state.schedule()
        }
        if schedule { WakeUps.ask { self.queue.async { self.drain() } } }
    }

    private func drain() {
        while true {
            let (messages, receive) = state.withLock { state in
                var messages: [Message] = []
                swap(&messages, &state.messages)
                if messages.isEmpty { state.isScheduled = false }
                return (messages, state.receive)
            }
            guard !messages.isEmpty else { return }
            receive?(messages)
        }
    }
}

/// Resumes one waiting task at the first call of ``open()``.
final class ShutdownGate: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = Mutex(continuation)
    }

    func open() {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume()
    }
}
