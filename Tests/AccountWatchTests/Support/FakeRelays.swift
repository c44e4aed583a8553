import Nostr
import RelayPool
import Synchronization

@testable import AccountWatch

/// Keeps what relays were told.
final class FakeRelays: RelayWatching {
    private struct State {
        var watched: [RelayURL: [PublicKey: Watched]] = [:]
        var operators: Set<RelayURL> = []
        var calls = 0
        var changes = 0
        var told: [RelayURL: [WatchChange]] = [:]
        var whenLeft: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool) {
        state.withLock { state in
            state.calls += 1
            state.changes += changes.count
            state.told[relay, default: []] += changes
            if isOperators { state.operators.insert(relay) }
            for change in changes {
                switch change {
                case .put(let watched): state.watched[relay, default: [:]][watched.key] = watched
                case .remove(let key): state.watched[relay, default: [:]][key] = nil
                }
            }
        }
    }

    func leave(_ isLeft: @escaping @Sendable (RelayURL) -> Bool, then completion: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.watched = state.watched.filter { !isLeft($0.key) }
            state.whenLeft.append(completion)
        }
    }

    /// The connections are closed.
    func closeLeft() {
        let completions = state.withLock { state in
            defer { state.whenLeft = [] }
            return state.whenLeft
        }
        for completion in completions { completion() }
    }

    /// The relays at which something is watched.
    var relays: [String] { state.withLock { $0.watched.filter { !$0.value.isEmpty }.keys.map(\.text).sorted() } }
    var operators: [String] { state.withLock { $0.operators.map(\.text).sorted() } }
    /// How many times relays were told something.
    var calls: Int { state.withLock { $0.calls } }
    var changes: Int { state.withLock { $0.changes } }

    /// Everything that a relay was told, in its order.
    func told(_ relay: RelayURL) -> [WatchChange] { state.withLock { $0.told[relay] ?? [] } }

    func watched(_ key: PublicKey, at relay: String) -> Watched? {
        guard let relay = RelayURL(relay) else { return nil }
        return state.withLock { $0.watched[relay]?[key] }
    }

    /// Where a key is watched.
    func relays(of key: PublicKey) -> [String] {
        state.withLock { $0.watched.filter { $0.value[key] != nil }.keys.map(\.text).sorted() }
    }
}
