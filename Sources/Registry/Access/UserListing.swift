import Core
import Foundation
import GRDB
import Nostr
import Push

/// An account with its devices in sum.
package struct UserListing: Hashable, Sendable {
    package var account: PublicKey
    package var devices: [DeviceID] = []
    package var routes: Set<Route> = []
    /// Nil where it has no devices.
    package var firstRegisteredAt: Timestamp?
    /// When one of its devices registered last.
    package var lastRegisteredAt: Timestamp?
}

/// Which accounts are listed.
package struct UserQuery: Hashable, Sendable {
    /// Only those with devices there, and only these devices.
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
    /// Accounts with devices, in the order of their keys' bytes.
    package func users(_ query: UserQuery) throws -> [UserListing] {
        guard query.isBlocked else { return try store.read { try $0.users(query) } }
        let keys = access.blockedKeys.sorted().filter { key in query.after.map { $0 < key } ?? true }
        return try store.read { rows in
            try keys.prefix(max(0, query.limit)).map { key in
                try rows.users(query, only: key).first ?? UserListing(account: key)
            }
        }
    }

    /// One account; without devices where it has none.
    package func user(_ key: PublicKey) throws -> UserListing {
        try store.read { try $0.users(UserQuery(limit: 1), only: key).first ?? UserListing(account: key) }
    }

    /// For how many accounts something is watched at a relay.
    package func accountsWatched(at relay: String) throws -> Int {
        try store.readOnce { rows in
            try rows.one(
                "SELECT count(DISTINCT owner) FROM watch JOIN watch_relays ON watch_relays.id = relay WHERE url = ?",
                [relay]
            )?[0] ?? 0
        }
    }

    /// The relays at which something is watched for an account, sorted.
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
