import PluginKit
import Synchronization

/// A token's hash. It is different in every process and reveals nothing about the token.
struct TokenKey: Hashable, Sendable {
    private let hash: Int

    init(_ token: BorrowedText) {
        var hasher = Hasher()
        hasher.combine(bytes: token.bytes)
        hash = hasher.finalize()
    }
}

/// Remembers values by token without storing the tokens: at least the latest `capacity`, at most twice as many.
final class TokenMemory<Value: Sendable>: Sendable {
    private struct State {
        var latest: [TokenKey: Value] = [:]
        var older: [TokenKey: Value] = [:]
    }

    private let state = Mutex(State())
    /// Most routers never remember anything, and then need no lock.
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
