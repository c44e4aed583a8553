import Dispatch
import Synchronization

/// Messages from any thread, worked off in batches and in order, one batch at a time, on a queue of its own.
///
/// Posting takes one short lock and, when nothing is being worked off, wakes the queue. Nobody is called on the poster's thread.
final class SerialMailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isScheduled = false
        var receive: (@Sendable ([Message]) -> Void)?

        /// Whether the caller has to start the queue.
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

    /// Begins to hand out messages; those posted before come first.
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
        if schedule { queue.async { self.drain() } }
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
