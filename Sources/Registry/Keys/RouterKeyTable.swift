import Cipher
import Core
import Foundation
import GRDB
import Nostr

/// A key that the router has, had or is about to have.
package struct RouterKeyRow: Sendable {
    package enum State: String, Sendable {
        /// The router's current key.
        case current
        /// Becomes the current key as soon as the key file contains it.
        case next
        /// The router answers to it until a date, in addition to the current one.
        case former
        /// The router no longer answers to it, and its secret is deleted.
        case retired
    }

    /// From 1, in the order in which the router got its keys.
    package let number: Int
    package let key: PublicKey
    package fileprivate(set) var state: State
    /// When the router got it.
    package let since: Timestamp
    /// The retirement date of a former key, and of the current one if this is the next.
    package fileprivate(set) var retiresAt: Timestamp?
    /// The sealed ``KeyRing`` that this key opens.
    fileprivate(set) var ring: [UInt8]?
}

/// All keys of a router whose key has changed, and the transitions between them. Pure: does no disk access.
///
/// A change starts with a next key and ends when it becomes the current one. Until then the registry belongs to
/// whichever of the two is in the key file.
package struct RouterKeyTable: Sendable {
    package private(set) var rows: [RouterKeyRow]

    /// The table of a router whose key never changed.
    package static let unchanged = RouterKeyTable()

    init(_ rows: [RouterKeyRow] = []) {
        self.rows = rows
    }

    package var current: RouterKeyRow? { rows.first { $0.state == .current } }
    package var next: RouterKeyRow? { rows.first { $0.state == .next } }
    /// The key that the router answers to in addition to the current one.
    package var former: RouterKeyRow? {
        rows.first { $0.state == .former } ?? (isGoingBack ? next : nil)
    }
    /// Whether the change in progress restores a former key.
    package var isGoingBack: Bool { (next?.number ?? .max) < (current?.number ?? 0) }
    /// Whether the last change restored a former key, so the other one is withdrawn.
    package var isWithdrawn: Bool { (former?.number ?? 0) > (current?.number ?? .max) }

    /// Starts the change from `current` to `next`, which may be the former key. A new key gets its own root, so an
    /// owner of the old key cannot open values that are sealed later.
    mutating func begin(
        _ next: KeyPair,
        after current: KeyPair,
        _ ring: KeyRing,
        retiresAt: Timestamp,
        now: Timestamp,
        random: RandomBytes
    ) throws {
        if rows.isEmpty {
            rows = [RouterKeyRow(number: 1, key: current.publicKey, state: .current, since: .epoch)]
        }
        let ring = ring.holding([current.secret])
        if let index = rows.firstIndex(where: { $0.key == next.publicKey && $0.state == .former }) {
            rows[index].state = .next
            rows[index].retiresAt = retiresAt
            rows[index].ring = try ring.sealed(for: next, random: random)
        } else {
            rows.append(
                RouterKeyRow(
                    number: (rows.map(\.number).max() ?? 0) + 1,
                    key: next.publicKey,
                    state: .next,
                    since: now,
                    retiresAt: retiresAt,
                    ring: try ring.renewed(random: random).sealed(for: next, random: random)
                )
            )
        }
    }

    /// Cancels the change in progress.
    mutating func discard() {
        guard let index = rows.firstIndex(where: { $0.state == .next }) else { return }
        if isGoingBack {
            rows[index].state = .former
            rows[index].ring = nil
        } else {
            rows.remove(at: index)
        }
    }

    /// Completes the change in progress: the next key becomes the current one.
    mutating func commit() {
        guard let next = rows.firstIndex(where: { $0.state == .next }),
            let current = rows.firstIndex(where: { $0.state == .current })
        else { return }
        rows[current].state = .former
        rows[current].retiresAt = rows[next].retiresAt
        rows[current].ring = nil
        rows[next].state = .current
        rows[next].retiresAt = nil
    }

    /// The table after the change in progress, if it is the change to `key`.
    func completed(by key: PublicKey) -> RouterKeyTable {
        guard next?.key == key else { return self }
        var table = self
        table.commit()
        return table
    }

    /// Answers to the former key until another date.
    mutating func postpone(until retiresAt: Timestamp) {
        guard let index = rows.firstIndex(where: { $0.state == .former }) else { return }
        rows[index].retiresAt = retiresAt
    }

    /// Gives up the former key, and with it its secret.
    mutating func retire(_ current: KeyPair, _ ring: KeyRing, now: Timestamp, random: RandomBytes) throws {
        guard let index = rows.firstIndex(where: { $0.state == .former }) else { return }
        rows[index].state = .retired
        rows[index].retiresAt = min(rows[index].retiresAt ?? now, now)
        try replace(ring.holding([]), of: current, random: random)
    }

    mutating func replace(_ ring: KeyRing, of current: KeyPair, random: RandomBytes) throws {
        guard let index = rows.firstIndex(where: { $0.key == current.publicKey }) else { return }
        rows[index].ring = try ring.sealed(for: current, random: random)
    }
}

/// The keys that the owner of a registry opens it with.
struct OwnKeys: Sendable {
    let keys: RouterKeys
    let ring: KeyRing

    /// Throws a ``RegistryStoreError`` unless `identity` is the current key of `table`, or there is no current key.
    init(_ table: RouterKeyTable, identity: KeyPair, path: String) throws {
        guard let current = table.current else {
            keys = RouterKeys(identity)
            ring = KeyRing(identity: identity.secret)
            return
        }
        guard current.key == identity.publicKey else { throw RegistryStoreError.anotherIdentity(path: path) }
        if let sealed = current.ring {
            guard let opened = KeyRing(sealed, for: identity) else { throw RegistryStoreError.unreadableKeys }
            ring = opened
        } else {
            ring = KeyRing(identity: identity.secret)
        }
        let former = table.former
        keys = RouterKeys(
            names: RouterKeyNames(
                current: RouterKeyNames.Name(number: current.number, key: current.key, retiresAt: nil),
                former: former.map {
                    RouterKeyNames.Name(number: $0.number, key: $0.key, retiresAt: $0.retiresAt ?? .distantFuture)
                },
                retired: table.rows.filter { $0.state == .retired }.map {
                    RouterKeyNames.Name(number: $0.number, key: $0.key, retiresAt: $0.retiresAt ?? .distantPast)
                }
            ),
            current: identity,
            former: former.flatMap { [ring] in ring.pair(of: $0.key) },
            seeds: ring.seeds
        )
    }
}

extension RegistryRows {
    func routerKeys() throws -> RouterKeyTable {
        RouterKeyTable(
            try all("SELECT number, key, state, since, retires_at, ring FROM router_keys ORDER BY number").map { row in
                guard let state = RouterKeyRow.State(rawValue: row["state"]) else {
                    throw DatabaseError(resultCode: .SQLITE_CORRUPT)
                }
                return RouterKeyRow(
                    number: row["number"],
                    key: try key(row, "key"),
                    state: state,
                    since: row["since"],
                    retiresAt: row["retires_at"],
                    ring: (row["ring"] as Data?).map { Array($0) }
                )
            }
        )
    }

    func put(_ table: RouterKeyTable) throws {
        try execute("DELETE FROM router_keys")
        for row in table.rows {
            try execute(
                "INSERT INTO router_keys (number, key, state, since, retires_at, ring) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    row.number, row.key.bytes.data, row.state.rawValue, row.since, row.retiresAt,
                    row.ring.map { Data($0) },
                ]
            )
        }
        guard let current = table.current else { return }
        try execute("UPDATE meta SET value = ? WHERE name = 'identity'", [current.key.hex])
    }

    /// Returns the number of devices registered to each key, by the key's number.
    func devicesByRouterKey() throws -> [Int: Int] {
        let rows = try all("SELECT router_key, count(*) FROM devices GROUP BY router_key")
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }

    /// The number of the key that the device in a slot is registered to; nil: the slot is empty.
    func routerKey(ofDeviceIn slot: RegistrationSlot) throws -> Int? {
        try one(
            "SELECT router_key FROM devices WHERE author = ? AND device_id = ?",
            [slot.author.bytes.data, slot.deviceID]
        )?[0]
    }
}
