import Nostr
import Push
import Registry
import Synchronization

@testable import Relays

/// Returns the registered accounts that a test sets.
final class FakeAccounts: WatchedAccounts {
    private struct State {
        var accounts: [PublicKey: WatchedAccount] = [:]
        var roots: Set<PublicKey> = []
        var followsRead: [PublicKey] = []
        var failures = 0
    }

    struct Failure: Error {}

    private let state = Mutex(State())

    subscript(_ key: PublicKey) -> WatchedAccount? {
        get { state.withLock { $0.accounts[key] } }
        set { state.withLock { $0.accounts[key] = newValue } }
    }

    var roots: Set<PublicKey> {
        get { state.withLock { $0.roots } }
        set { state.withLock { $0.roots = newValue } }
    }

    var followsRead: [PublicKey] { state.withLock { $0.followsRead } }

    /// Makes the next `times` queries for an account fail.
    func fail(_ times: Int) { state.withLock { $0.failures = times } }

    func watchedAccount(_ key: PublicKey) throws -> WatchedAccount? {
        try state.withLock { state in
            if state.failures > 0 {
                state.failures -= 1
                throw Failure()
            }
            return state.accounts[key]
        }
    }

    func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws {
        for account in state.withLock({ Array($0.accounts.values) }) { try body(account) }
    }

    func concerns(_ author: PublicKey) throws -> Bool {
        state.withLock { $0.accounts[author] != nil || $0.roots.contains(author) }
    }

    func rootsOfInterest() throws -> Set<PublicKey> { roots }

    /// Each partner is the only one of a device.
    func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        let partners = self[account]?.partners.sorted() ?? []
        return Dictionary(uniqueKeysWithValues: partners.enumerated().map { (DeviceID(rawValue: Int64($0)), [$1]) })
    }

    func markFollowsRead(_ accounts: Set<PublicKey>) throws {
        state.withLock { $0.followsRead += accounts.sorted() }
    }
}

/// Keeps the changes sent to relays.
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
    /// The number of calls.
    var calls: Int { state.withLock { $0.calls } }
    var changes: Int { state.withLock { $0.changes } }

    /// Returns all changes sent to a relay, in order.
    func told(_ relay: RelayURL) -> [WatchChange] { state.withLock { $0.told[relay] ?? [] } }

    func watched(_ key: PublicKey, at relay: String) -> Watched? {
        guard let relay = RelayURL(relay) else { return nil }
        return state.withLock { $0.watched[relay]?[key] }
    }

    /// Returns the relays on which a key is watched.
    func relays(of key: PublicKey) -> [String] {
        state.withLock { $0.watched.filter { $0.value[key] != nil }.keys.map(\.text).sorted() }
    }
}
