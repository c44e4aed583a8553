import Nostr
import Notifications
import Registry
import Synchronization

@testable import AccountWatch

/// Says who is registered, as it was told.
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

    /// Makes as many questions after an account fail.
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
