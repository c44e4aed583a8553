import Cipher
import Core
import Foundation
import Nostr

/// Changes the router's keys in its registry. Each function is one transaction or resumes where it stopped, and has no
/// effect once it is done.
package struct RouterKeyStore {
    private let store: RegistryStore
    private let random: RandomBytes

    package init(_ store: RegistryStore, random: @escaping RandomBytes = SecureRandom.bytes) {
        self.store = store
        self.random = random
    }

    /// The keys that `identity` opens in the registry at `path`, even while a router runs on it. Without a registry,
    /// the keys of a router whose key never changed.
    package static func keys(of identity: KeyPair, at path: String) throws -> RouterKeys {
        guard FileManager.default.fileExists(atPath: path) else { return RouterKeys(identity) }
        return try RegistryStore(reading: path).claim(for: identity).keys
    }

    /// The keys as they are on disk; no rows: the key never changed.
    package func table() throws -> RouterKeyTable { try store.read { try $0.routerKeys() } }

    /// Returns the number of devices registered to each key, by the key's number.
    package func devices() throws -> [Int: Int] { try store.read { try $0.devicesByRouterKey() } }

    /// The key pair of a key that the router has in addition to `current`.
    package func pair(of key: PublicKey, by current: KeyPair) throws -> KeyPair? {
        try store.claim(for: current).keys.pair(of: key)
    }

    /// Whether all values are sealed under the newest root.
    package func isResealed(by current: KeyPair) throws -> Bool { try store.claim(for: current).ring.roots.count == 1 }

    /// Prepares the registry for `next`, which may be a former key: whichever of both keys is in the key file opens it.
    package func begin(_ next: KeyPair, after current: KeyPair, retiresAt: Timestamp, now: Timestamp) throws {
        let ring = try store.claim(for: current).ring
        try change { try $0.begin(next, after: current, ring, retiresAt: retiresAt, now: now, random: random) }
    }

    /// Cancels the change in progress.
    package func discard() throws { try change { $0.discard() } }

    /// Answers to the former key until another date.
    package func postpone(until date: Timestamp) throws { try change { $0.postpone(until: date) } }

    /// Completes the change in progress if the key file already contains the next key.
    package func commit(_ identity: KeyPair) throws { _ = try store.claim(for: identity) }

    /// Gives up the former key and its secret. Everything must have been resealed.
    package func retire(by current: KeyPair, now: Timestamp) throws {
        let ring = try store.claim(for: current).ring
        try change { try $0.retire(current, ring, now: now, random: random) }
    }

    /// Removes the devices that are registered to `key`. Later events can register them again; the same events cannot.
    /// Returns the number of removed devices.
    package func removeDevices(of key: RouterKeyRow) throws -> Int {
        var count = 0
        while true {
            let removed = try store.writeHere { rows in
                let devices = try rows.devices(registeredTo: key.number, limit: Resealing.batch)
                var changes = RegistryChanges()
                for device in devices { try rows.evict(device, &changes) }
                return devices.count
            }
            if removed == 0 { return count }
            count += removed
        }
    }

    /// Reseals every value under the newest root and removes the other roots. `progress` receives the number of values
    /// read. Returns the number of resealed values.
    @discardableResult
    package func reseal(by current: KeyPair, progress: (Int) throws -> Void = { _ in }) throws -> Int {
        let ring = try store.claim(for: current).ring
        guard ring.roots.count > 1 else { return 0 }
        let resealing = Resealing(store: store, vault: try TokenVault(ring, random: random))
        let count = try resealing.run(progress: progress)
        try change { try $0.replace(ring.resealed, of: current, random: random) }
        return count
    }

    /// Gives up the former key if its date has come. Returns it if it was given up.
    package func retireIfDue(by current: KeyPair, now: Timestamp) throws -> RouterKeyRow? {
        guard let former = try table().former, let date = former.retiresAt, date <= now, try table().next == nil else {
            return nil
        }
        try reseal(by: current)
        try retire(by: current, now: now)
        return former
    }

    private func change(_ body: (inout RouterKeyTable) throws -> Void) throws {
        try store.writeHere { rows in
            var table = try rows.routerKeys()
            try body(&table)
            try rows.put(table)
        }
    }
}
