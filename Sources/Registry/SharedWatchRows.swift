import Foundation
import GRDB
import Nostr

/// A key whose stored events at a relay were read, and the interest that it was read with: bits that the registry does
/// not interpret.
package struct ReadKey: Hashable, Sendable {
    package var url: String
    package var key: PublicKey
    package var interest: UInt8

    package init(url: String, key: PublicKey, interest: UInt8) {
        self.url = url
        self.key = key
        self.interest = interest
    }
}

extension Registry {
    /// Records for all members which keys were read at relays, and which keys must be read again. Updates their watch
    /// rows too. `asked` are the bits of an interest that a relay query contains. Runs in one transaction, which is in
    /// the shared log when the call returns.
    package func share(read: [ReadKey], forgotten: [ReadKey], asked: UInt8) throws {
        guard !read.isEmpty || !forgotten.isEmpty else { return }
        try store.write { rows in
            for key in forgotten { try rows.forget(key) }
            for key in read { try rows.share(key, asked: asked) }
        }
    }
}

extension RegistryRows {
    /// The interest with which a member read `key` at a relay; nil if none has read it.
    package func readInterest(of key: PublicKey, at url: String) throws -> UInt8? {
        try one("SELECT interest FROM watch_read WHERE url = ? AND key = ?", [url, key.bytes.data])
            .map { UInt8(truncatingIfNeeded: $0[0] as Int64) }
    }

    /// The union of the interests with which `key` is watched at `relay`.
    package func interests(in key: PublicKey, at relay: RelayNumber) throws -> UInt8 {
        let rows = try all(
            """
            SELECT interest FROM watch WHERE owner = ?1 AND key = x'' AND relay = ?2
            UNION SELECT interest FROM watch WHERE key = ?1 AND key <> x'' AND relay = ?2
            """,
            [key.bytes.data, relay.rawValue]
        )
        return rows.reduce(0) { $0 | UInt8(truncatingIfNeeded: $1[0] as Int64) }
    }

    fileprivate func share(_ read: ReadKey, asked: UInt8) throws {
        let bytes = read.key.bytes.data
        try execute(
            "INSERT OR REPLACE INTO watch_read (url, key, interest) VALUES (?, ?, ?)",
            [read.url, bytes, read.interest]
        )
        let condition = "relay = (SELECT id FROM watch_relays WHERE url = ?) AND interest & ? & ~? = 0"
        try execute(
            "UPDATE watch SET established = 1 WHERE owner = ? AND key = x'' AND \(condition)",
            [bytes, read.url, asked, read.interest]
        )
        try execute(
            "UPDATE watch SET established = 1 WHERE key = ? AND key <> x'' AND \(condition)",
            [bytes, read.url, asked, read.interest]
        )
    }

    fileprivate func forget(_ read: ReadKey) throws {
        try execute("DELETE FROM watch_read WHERE url = ? AND key = ?", [read.url, read.key.bytes.data])
    }
}
