import Nostr
import Notifications

extension Registry {
    /// How many roots ``rootsOfInterest()`` names at most: registrations name partners as they like.
    package static let rootsOfInterestLimit = 50_000

    /// Whether ``learn(_:)`` would look at lists of `author`: it has an account here, is somebody's partner, or a device that
    /// waits claims to be its own.
    package func concerns(_ author: PublicKey) throws -> Bool {
        try store.readOnce { try $0.concerns(author) }
    }

    /// The keys besides those of accounts whose kind 10050 is wanted: the roots that waiting registrations name, and partners, of
    /// which those come first that devices named first.
    package func rootsOfInterest() throws -> Set<PublicKey> {
        try store.read { try $0.rootsOfInterest(limit: Self.rootsOfInterestLimit) }
    }

    /// Whether `key` is somebody's partner or named by a waiting registration as its root, however many others are.
    package func isRootOfInterest(_ key: PublicKey) throws -> Bool {
        try store.readOnce { try $0.isRootOfInterest(key) }
    }

    /// Whether `key` may speak for `root`: it is the same, or a device in the newest kind 10050 of that root that
    /// speaks of devices.
    package func speaks(_ key: PublicKey, for root: PublicKey) throws -> Bool {
        try key == root || store.readOnce { try $0.lists(key, for: root, now: now()) }
    }

    /// Whose wake-up hints (kind 20062) count for which devices of an account. Devices without partners are left out.
    package func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        try store.readOnce { try $0.partners(of: account) }
    }

    /// Whether what `signer` signed is the account's own doing: by its key, by a key that it receives messages under, or by a device
    /// that its kind 10050 lists and that says so in `root_identity`. Asks the disk only if `root` is the account.
    package func isOwn(
        _ signer: PublicKey,
        speakingFor root: PublicKey?,
        of account: PublicKey,
        in index: borrowing MatchIndex
    ) throws -> Bool {
        if signer == account || index.isMessageKey(signer, of: account) { return true }
        return try root == account && speaks(signer, for: account)
    }
}
