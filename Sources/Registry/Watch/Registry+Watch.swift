import Nostr

extension Registry {
    /// What is to be watched of an account; nil when it has no device.
    package func watchedAccount(_ key: PublicKey) throws -> WatchedAccount? {
        nil
    }

    /// Calls `body` with every account that has a device, on one consistent state and beside writers.
    package func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws {
    }

    /// Remembers that all contact lists which named these accounts at their relays were read, so that an unknown author's list
    /// that names one from now on is a follow.
    package func markFollowsRead(_ accounts: Set<PublicKey>) throws {
    }
}
