import Foundation
import GRDB
import Nostr
import Push

/// Root identities that are related to accounts: their own, those of waiting devices, and partners.
extension Registry {
    /// The maximum number of roots in ``rootsOfInterest()``, because registrations may name any partners.
    package static let rootsOfInterestLimit = 50_000

    /// Whether lists of `author` are looked for: it has an account here that is in use, is a partner of an account, or
    /// a waiting device claims to belong to it.
    package func concerns(_ author: PublicKey) throws -> Bool {
        if access.isBlocked(author) { return try isRootOfInterest(author) }
        return try store.readOnce { try $0.concerns(author) }
    }

    /// Returns keys other than accounts whose kind 10050 is needed: the roots that waiting registrations name, then
    /// partners in the order in which devices named them.
    package func rootsOfInterest() throws -> Set<PublicKey> {
        try store.read { try $0.rootsOfInterest(limit: Self.rootsOfInterestLimit) }
    }

    /// Whether `key` is a partner or a waiting registration's root, even beyond ``rootsOfInterestLimit``.
    package func isRootOfInterest(_ key: PublicKey) throws -> Bool {
        try store.readOnce { try $0.isRootOfInterest(key) }
    }

    /// Whether `key` may speak for `root`: it is the same key, or a device in the newest kind 10050 of that root that
    /// names devices.
    package func speaks(_ key: PublicKey, for root: PublicKey) throws -> Bool {
        try key == root || store.readOnce { try $0.lists(key, for: root, now: now()) }
    }

    /// The partners whose wake-up hints (kind 20062) count, by device. Devices without partners are omitted.
    package func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        try store.readOnce { try $0.partners(of: account) }
    }

    /// Whether `signer` acts for the account: with the account's key, a key it receives messages under, or a device
    /// that its kind 10050 lists and that names it in `root_identity`. Reads the disk only if `root` is the account.
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

extension RegistryRows {
    /// Replaces the relays and partners that a device named: account watch and hints need them.
    func putPreferences(of device: DeviceID, relays: [String], partners: Set<PublicKey>) throws {
        try execute("DELETE FROM wished_relays WHERE device = ?", [device.rawValue])
        if !relays.isEmpty {
            try execute(
                "INSERT INTO wished_relays (device, relays) VALUES (?, ?)",
                [device.rawValue, relays.joined(separator: "\n")]
            )
        }
        try execute("DELETE FROM partners WHERE device = ?", [device.rawValue])
        for partner in partners {
            try execute(
                "INSERT INTO partners (device, partner) VALUES (?, ?)",
                [device.rawValue, partner.bytes.data]
            )
        }
    }

    func partners(of device: DeviceID) throws -> Set<PublicKey> {
        Set(
            try all("SELECT partner FROM partners WHERE device = ?", [device.rawValue]).map { try key($0, "partner") }
        )
    }

    func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        let rows = try all(
            "SELECT device, partner FROM devices JOIN partners ON device = id WHERE account = ?",
            [account.bytes.data]
        )
        return try rows.reduce(into: [:]) { partners, row in
            partners[DeviceID(rawValue: row["device"]), default: []].insert(try key(row, "partner"))
        }
    }

    /// Returns the roots that waiting registrations name, then partners in the order in which devices named them, up to
    /// `limit`.
    func rootsOfInterest(limit: Int) throws -> Set<PublicKey> {
        let waiting = try all("SELECT DISTINCT root FROM waiting").map { try key($0, "root") }
        let partners = try all(
            "SELECT partner FROM partners GROUP BY partner ORDER BY min(device) LIMIT ?",
            [max(0, limit - waiting.count)]
        )
        return Set(waiting).union(try partners.map { try key($0, "partner") })
    }

    func isRootOfInterest(_ key: PublicKey) throws -> Bool {
        try one(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM partners WHERE partner = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE root = ?1)
            """,
            [key.bytes.data]
        ) != nil
    }

    /// Whether `key` is an account or a root of interest.
    func concerns(_ key: PublicKey) throws -> Bool {
        try one(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
                OR EXISTS (SELECT 1 FROM partners WHERE partner = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE root = ?1)
            """,
            [key.bytes.data]
        ) != nil
    }
}
