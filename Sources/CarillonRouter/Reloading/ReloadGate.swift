import Synchronization

/// Lets one reload in at a time, and remembers that another one is wanted behind it.
final class ReloadGate: Sendable {
    private enum State {
        case open, taken, takenAndWanted
    }

    private let state = Mutex(State.open)

    /// False while another reload is under way.
    func enter() -> Bool {
        state.withLock { state in
            guard state == .open else { return false }
            state = .taken
            return true
        }
    }

    /// The same for whoever cannot try again: while another reload is under way, the one who does it will read once more.
    func enterOrAsk() -> Bool {
        state.withLock { state in
            let isOpen = state == .open
            state = isOpen ? .taken : .takenAndWanted
            return isOpen
        }
    }

    /// False when somebody asked meanwhile: whoever has the gate keeps it, and has to read once more.
    func leave() -> Bool {
        state.withLock { state in
            let isWanted = state == .takenAndWanted
            state = isWanted ? .taken : .open
            return !isWanted
        }
    }
}
