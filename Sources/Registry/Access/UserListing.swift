import Core
import Foundation
import GRDB
import Nostr
import Push

/// An account with a summary of its devices, as operators see it.
package struct UserListing: Hashable, Sendable {
    package var account: PublicKey
    package var devices: [DeviceID] = []
    package var routes: Set<Route> = []
    /// When the first of its current devices was first registered; nil if it has no devices.
    package var firstRegisteredAt: Timestamp?
    /// When one of its devices last registered; nil if it has no devices.
    package var lastRegisteredAt: Timestamp?
}

/// A query for one page of accounts.
package struct UserQuery: Hashable, Sendable {
    /// Selects only devices on this platform, and accounts that have such a device. Nil: all platforms.
    package var platform: String?
    package var app: String?
    /// Only blocked keys, with devices or without.
    package var isBlocked: Bool
    /// The page starts after this key, in byte order.
    package var after: PublicKey?
    package var limit: Int

    package init(
        platform: String? = nil,
        app: String? = nil,
        isBlocked: Bool = false,
        after: PublicKey? = nil,
        limit: Int
    ) {
        self.platform = platform
        self.app = app
        self.isBlocked = isBlocked
        self.after = after
        self.limit = limit
    }
}

extension Registry {
    /// Returns a page of accounts, in the order of their keys' bytes.
    package func users(_ query: UserQuery) throws -> [UserListing] {
        guard query.isBlocked else { return try store.read { try $0.users(query) } }
        let keys = access.blockedKeys.sorted().filter { key in query.after.map { $0 < key } ?? true }
        return try store.read { rows in
            try keys.prefix(max(0, query.limit)).map { key in
                try rows.users(query, only: key).first ?? UserListing(account: key)
            }
        }
    }

    /// Returns one account, without devices if it has none.
    package func user(_ key: PublicKey) throws -> UserListing {
        try store.read { try $0.users(UserQuery(limit: 1), only: key).first ?? UserListing(account: key) }
    }

    /// Returns the number of accounts and roots of interest for which keys are watched at a relay.
    package func accountsWatched(at relay: String) throws -> Int {
        try store.readOnce { rows in
            try rows.one(
                "SELECT count(DISTINCT owner) FROM watch JOIN watch_relays ON watch_relays.id = relay WHERE url = ?",
                [relay]
            )?[0] ?? 0
        }
    }

    /// Returns the URLs of the relays at which keys are watched for an account, sorted.
    package func relaysWatched(for account: PublicKey) throws -> [String] {
        try store.readOnce { rows in
            try rows.all(
                """
                SELECT DISTINCT url FROM watch JOIN watch_relays ON watch_relays.id = relay WHERE owner = ? ORDER BY url
                """,
                [account.bytes.data]
            ).map { $0[0] }
        }
    }
}

extension RegistryRows {
    fileprivate func users(_ query: UserQuery, only key: PublicKey? = nil) throws -> [UserListing] {
        let routes = try routes()
        return try all(
            """
            SELECT account, group_concat(devices.id), group_concat(route), min(first_registered_at), max(registered_at)
            FROM devices JOIN routes ON routes.id = route
            WHERE \(key == nil ? "account > ?1" : "account = ?1")
                AND (?2 IS NULL OR platform = ?2) AND (?3 IS NULL OR app = ?3)
            GROUP BY account ORDER BY account LIMIT ?4
            """,
            [(key ?? query.after)?.bytes.data ?? Data(), query.platform, query.app, max(0, query.limit)]
        ).map { row in
            UserListing(
                account: PublicKey(try bytes(row, at: 0)),
                devices: Self.numbers(row[1]).map { DeviceID(rawValue: $0) }.sorted(),
                routes: Set(
                    Self.numbers(row[2]).compactMap { routes[RouteID(rawValue: UInt16(truncatingIfNeeded: $0))] }
                ),
                firstRegisteredAt: row[3],
                lastRegisteredAt: row[4]
            )
        }
    }

    private static func numbers(_ column: String) -> [Int64] { column.split(separator: ",").compactMap { Int64($0) } }
}
