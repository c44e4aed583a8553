import PluginKit
import Synchronization

/// Remembers something of tokens without keeping them: of at least the latest `capacity`, of at most twice as many.
final class TokenMemory<Value: Sendable>: Sendable {
    private struct State {
        var latest: [TokenKey: Value] = [:]
        var older: [TokenKey: Value] = [:]
    }

    private let state = Mutex(State())
    /// Most routers never have anything to remember.
    private let isUsed = Atomic(false)
    private let capacity: Int

    init(capacity: Int = 65_536) {
        self.capacity = capacity
    }

    func value(of token: BorrowedText) -> Value? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let key = TokenKey(token)
        return state.withLock { $0.latest[key] ?? $0.older[key] }
    }

    func remember(_ value: Value, of key: TokenKey) {
        isUsed.store(true, ordering: .relaxed)
        state.withLock { state in
            if state.latest.count >= capacity, state.latest[key] == nil {
                state.older = state.latest
                state.latest = [:]
            }
            state.latest[key] = value
        }
    }
}
