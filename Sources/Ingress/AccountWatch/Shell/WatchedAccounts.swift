import Nostr
import Notifications
import Registry

/// Who is registered, as far as an ``AccountWatch`` has to know.
protocol WatchedAccounts: Sendable {
    func watchedAccount(_ key: PublicKey) throws -> WatchedAccount?
    func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws
    func concerns(_ author: PublicKey) throws -> Bool
    func rootsOfInterest() throws -> Set<PublicKey>
    func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>]
    func markFollowsRead(_ accounts: Set<PublicKey>) throws
}

extension Registry: WatchedAccounts {}
