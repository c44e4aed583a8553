import Nostr
import Registry

/// Who has keys watched, besides one owner or nobody.
struct OtherOwners {
    private let owner: PublicKey?
    private let rows: RegistryRows
    /// Whether anybody has a key watched that is not their own.
    private let exist: Bool
    private var shared: [PublicKey: Bool] = [:]

    init(besides owner: PublicKey?, _ rows: RegistryRows, exist: Bool) {
        self.owner = owner
        self.rows = rows
        self.exist = exist
    }

    /// How the others have `key` watched at a relay; nil when they do not.
    mutating func watch(of key: PublicKey, at relay: RelayNumber) throws -> KeyWatch? {
        if key == owner, !exist { return nil }
        let isShared = try shared[key] ?? rows.isWatched(key, notOnlyBy: owner)
        shared[key] = isShared
        guard isShared else { return nil }
        // One row of each kind is enough: what owners have watched alike has begun alike.
        var found = key == owner ? [] : [try rows.ownWatch(of: key, at: relay)].compactMap { $0 }
        for interest in WatchInterest.asked {
            if let row = try rows.watch(of: key, at: relay, notBy: owner, interest: interest.rawValue) {
                found.append(row)
            }
        }
        return KeyWatch(found)
    }
}
