import Foundation
import GRDB
import Nostr

extension Registry {
    /// Runs `body` on the watch rows in one transaction, which is on disk on return. Throws a ``RegistryStoreError``,
    /// or what `body` throws.
    package func writeWatch<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try store.writeHere(body)
    }

    /// Runs `body` on one consistent state of the watch rows, concurrently with writers.
    package func readWatch<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try store.read(body)
    }
}

/// The number of a relay in the watch rows.
package struct RelayNumber: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (one: RelayNumber, other: RelayNumber) -> Bool { one.rawValue < other.rawValue }
}

/// A relay at which keys are watched.
package struct StoredRelay: Hashable, Sendable {
    package var number: RelayNumber
    package var url: String
    /// The second, since 1970, up to which all events of the relay were processed; nil: never.
    package var mark: Int64?

    package init(number: RelayNumber, url: String, mark: Int64?) {
        self.number = number
        self.url = url
        self.mark = mark
    }
}

/// A key that is watched at a relay for an owner.
package struct WatchRow: Hashable, Sendable {
    /// The key whose registration or list asks for this watch: often the key itself.
    package var owner: PublicKey
    package var key: PublicKey
    package var relay: RelayNumber
    /// The interest in the key: bits that the registry does not interpret.
    package var interest: UInt8
    /// Older events at this relay do not count for the key. In seconds since 1970.
    package var since: Int64
    /// Whether the events that the relay had stored for the key were read.
    package var isEstablished: Bool

    package init(
        owner: PublicKey,
        key: PublicKey,
        relay: RelayNumber,
        interest: UInt8,
        since: Int64,
        isEstablished: Bool
    ) {
        self.owner = owner
        self.key = key
        self.relay = relay
        self.interest = interest
        self.since = since
        self.isEstablished = isEstablished
    }
}

extension RegistryRows {
    package func watchRelays() throws -> [StoredRelay] {
        try all("SELECT id, url, mark FROM watch_relays ORDER BY id").map {
            StoredRelay(number: RelayNumber(rawValue: $0[0]), url: $0[1], mark: $0[2])
        }
    }

    package func put(_ relay: StoredRelay) throws {
        try execute(
            "INSERT OR REPLACE INTO watch_relays (id, url, mark) VALUES (?, ?, ?)",
            [relay.number.rawValue, relay.url, relay.mark]
        )
    }

    /// Removes a relay. No key may be watched there any longer.
    package func removeRelay(_ relay: RelayNumber) throws {
        try execute("DELETE FROM watch_relays WHERE id = ?", [relay.rawValue])
    }

    package func mark(_ relay: RelayNumber, upTo moment: Int64) throws {
        try execute("UPDATE watch_relays SET mark = ? WHERE id = ?", [moment, relay.rawValue])
    }

    /// The rows watched for `owner`.
    package func watchRows(of owner: PublicKey) throws -> [WatchRow] {
        let statement = try db.cachedStatement(
            sql: "SELECT owner, key, relay, interest, since, established FROM watch WHERE owner = ?"
        )
        let rows = try Row.fetchCursor(statement, arguments: [owner.bytes.data])
        var found: [WatchRow] = []
        while let row = try rows.next() { found.append(try Self.watchRow(row)) }
        return found
    }

    /// Calls `body` with all rows, in the order of their owners' bytes.
    package func forEachWatchRow(_ body: (WatchRow) throws -> Void) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT owner, key, relay, interest, since, established FROM watch ORDER BY owner"
        )
        while let row = try rows.next() { try body(Self.watchRow(row)) }
    }

    /// The row by which `key` is watched at `relay` on its own behalf.
    package func ownWatch(of key: PublicKey, at relay: RelayNumber) throws -> WatchRow? {
        try one(
            """
            SELECT owner, key, relay, interest, since, established FROM watch
            WHERE owner = ? AND key = x'' AND relay = ?
            """,
            [key.bytes.data, relay.rawValue]
        ).map(Self.watchRow)
    }

    /// A row by which `key` is watched at `relay` for an owner other than `owner` and the key itself, with exactly this
    /// interest.
    package func watch(
        of key: PublicKey,
        at relay: RelayNumber,
        notBy owner: PublicKey?,
        interest: UInt8
    ) throws -> WatchRow? {
        try one(
            """
            SELECT owner, key, relay, interest, since, established FROM watch
            WHERE key = ? AND key <> x'' AND relay = ? AND interest = ? AND owner <> ? LIMIT 1
            """,
            [key.bytes.data, relay.rawValue, interest, owner?.bytes.data ?? Data()]
        ).map(Self.watchRow)
    }

    /// Whether an owner other than `owner` watches `key` at any relay.
    package func isWatched(_ key: PublicKey, notOnlyBy owner: PublicKey?) throws -> Bool {
        try one(
            """
            SELECT EXISTS (SELECT 1 FROM watch WHERE key = ?1 AND key <> x'' AND owner <> ?2)
                OR (?1 <> ?2 AND EXISTS (SELECT 1 FROM watch WHERE owner = ?1 AND key = x''))
            """,
            [key.bytes.data, owner?.bytes.data ?? Data()]
        )?[0] ?? false
    }

    /// The keys that more than one owner has watched.
    package func sharedWatchKeys() throws -> Set<PublicKey> {
        let rows = try all(
            """
            SELECT key FROM watch WHERE key <> x'' GROUP BY key, relay HAVING count(*) > 1
            UNION
            SELECT key FROM watch AS others
            WHERE key <> x'' AND EXISTS (SELECT 1 FROM watch WHERE owner = others.key AND key = x'')
            """
        )
        return Set(try rows.map { try key($0, "key") })
    }

    /// The relays at which `key` is watched for any owner.
    package func watchRelays(of key: PublicKey) throws -> [RelayNumber] {
        try all(
            """
            SELECT relay FROM watch WHERE owner = ?1 AND key = x''
            UNION SELECT relay FROM watch WHERE key = ?1 AND key <> x''
            """,
            [key.bytes.data]
        ).map { RelayNumber(rawValue: $0[0]) }
    }

    package func put(_ row: WatchRow) throws {
        try execute(
            "INSERT OR REPLACE INTO watch (owner, key, relay, interest, since, established) VALUES (?, ?, ?, ?, ?, ?)",
            [
                row.owner.bytes.data, Self.column(row), row.relay.rawValue, row.interest, row.since,
                row.isEstablished,
            ]
        )
    }

    package func remove(_ row: WatchRow) throws {
        try execute(
            "DELETE FROM watch WHERE owner = ? AND key = ? AND relay = ?",
            [row.owner.bytes.data, Self.column(row), row.relay.rawValue]
        )
    }

    /// Records that the stored events of `relay` for `key` were read. Returns the interest with which the key is
    /// watched there on its own behalf; nil if it is not.
    package func establish(_ key: PublicKey, at relay: RelayNumber) throws -> UInt8? {
        let bytes = key.bytes.data
        try execute(
            "UPDATE watch SET established = 1 WHERE key = ? AND key <> x'' AND relay = ?",
            [bytes, relay.rawValue]
        )
        let own = try one(
            "UPDATE watch SET established = 1 WHERE owner = ? AND key = x'' AND relay = ? RETURNING interest",
            [bytes, relay.rawValue]
        )
        return own.map { UInt8(truncatingIfNeeded: $0[0] as Int64) }
    }

    private static func column(_ row: WatchRow) -> Data { row.key == row.owner ? Data() : row.key.bytes.data }

    private static func watchRow(_ row: Row) throws -> WatchRow {
        let owner = try bytes32(row, 0)
        let key = try bytes32(row, 1)
        guard let owner else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return WatchRow(
            owner: PublicKey(owner),
            key: PublicKey(key ?? owner),
            relay: RelayNumber(rawValue: row[2]),
            interest: UInt8(truncatingIfNeeded: row[3] as Int64),
            since: row[4],
            isEstablished: row[5]
        )
    }

    /// Returns nil for an empty column.
    private static func bytes32(_ row: Row, _ index: Int) throws -> Bytes32? {
        try row.withUnsafeData(atIndex: index) { data in
            guard let data, !data.isEmpty else { return nil }
            guard data.count == 32 else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
            return data.withUnsafeBytes { Bytes32(loading: $0) }
        }
    }
}
