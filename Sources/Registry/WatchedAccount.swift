import Core
import Foundation
import GRDB
import Nostr
import Push
import Storage

/// The data of an account that account watch needs to find its events. All lists are bounded, free of duplicates, and
/// unchecked: URLs are as their authors wrote them.
package struct WatchedAccount: Hashable, Sendable {
    package var key: PublicKey
    /// When the oldest of its devices was first registered, in seconds since 1970.
    package var registeredAt: Int64
    /// The relays that its registrations name. If empty, the relays of its lists apply.
    package var relays: [String]
    /// The relays that the account reads (NIP-65), where others publish events for it.
    package var readRelays: [String]
    /// Where it receives messages (NIP-17).
    package var messageRelays: [String]
    /// Additional keys that it receives gift wraps under. A former key counts for seven more days.
    package var messageKeys: [PublicKey]
    /// The keys whose hints wake some or all of its devices.
    package var partners: Set<PublicKey>
    /// Whether all of its devices list partners, so that hints replace reading relays.
    package var isPartnered: Bool
}

extension Registry {
    /// The data to watch an account. Nil if it has no device, or only devices out of use.
    package func watchedAccount(_ key: PublicKey) throws -> WatchedAccount? {
        let (now, access) = (now(), access)
        var account: WatchedAccount?
        try store.read { rows in
            try rows.forEachWatchedAccount(key, without: access.isBlocked, now: now) { account = $0 }
        }
        return account
    }

    /// Calls `body` for every account that has a device, on one consistent state and concurrently with writers. `body`
    /// must not call the registry.
    package func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws {
        let (now, access) = (now(), access)
        try store.read { rows in
            try rows.forEachWatchedAccount(without: access.isBlocked, now: now, body)
        }
    }
}

extension RegistryRows {
    /// The maximum number of relays from an account's registrations.
    private static let relaysPerAccount = 32

    /// Calls `body` for every account that has a device, or only for `account`. Devices for which `isBlocked` returns
    /// true do not count.
    func forEachWatchedAccount(
        _ account: PublicKey? = nil,
        without isBlocked: (_ author: PublicKey, _ account: PublicKey) -> Bool,
        now: Timestamp,
        _ body: (WatchedAccount) throws -> Void
    ) throws {
        let keys = try account.map { [$0: try messageKeys(of: $0)] } ?? allMessageKeys(now: now)
        let condition = account == nil ? "? IS NULL" : "devices.account = ?"
        let rows = try RawStatement(
            db,
            """
            SELECT devices.account, first_registered_at, id, wished_relays.relays, read_list.relays, message_list.relays,
                EXISTS (SELECT 1 FROM partners WHERE device = id), devices.author
            FROM devices
            LEFT JOIN wished_relays ON wished_relays.device = id
            LEFT JOIN lists AS read_list ON read_list.author = devices.account AND read_list.kind = 10002
            LEFT JOIN lists AS message_list ON message_list.author = devices.account AND message_list.kind = 10050
            WHERE \(condition)
            ORDER BY devices.account
            """
        )
        defer { rows.reset() }
        try rows.bind(blob: account?.bytes.array, at: 1)
        var current: WatchedAccount?
        while try rows.step() {
            let key = PublicKey(try Self.bytes(rows.bytes(at: 0)))
            if isBlocked(PublicKey(try Self.bytes(rows.bytes(at: 7))), key) { continue }
            if let done = current, done.key != key {
                try body(done)
                current = nil
            }
            var account =
                current
                ?? WatchedAccount(
                    key: key,
                    registeredAt: .max,
                    relays: [],
                    readRelays: Self.relays(rows, at: 4),
                    messageRelays: Self.relays(rows, at: 5),
                    messageKeys: (keys[key] ?? []).filter { $0.until ?? .distantFuture > now }.map(\.key),
                    partners: [],
                    isPartnered: true
                )
            account.registeredAt = min(account.registeredAt, rows.timestamp(at: 1).seconds)
            for relay in Self.relays(rows, at: 3)
            where account.relays.count < Self.relaysPerAccount && !account.relays.contains(relay) {
                account.relays.append(relay)
            }
            if rows.integer(at: 6) != 0 {
                account.partners.formUnion(try partners(of: DeviceID(rawValue: rows.integer(at: 2))))
            } else {
                account.isPartnered = false
            }
            current = account
        }
        if let current { try body(current) }
    }

    private static func relays(_ rows: RawStatement, at column: Int32) -> [String] {
        guard !rows.isNull(at: column) else { return [] }
        return rows.bytes(at: column).split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }
}
