import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    /// How many relays of an account's registrations are passed on.
    private static let relaysPerAccount = 32

    /// Calls `body` with every account that has a device, or with `account` alone; `now` is in milliseconds since 1970.
    func forEachWatchedAccount(
        _ account: PublicKey? = nil,
        now: Int64,
        _ body: (WatchedAccount) throws -> Void
    ) throws {
        let keys = try account.map { [$0: try messageKeys(of: $0)] } ?? allMessageKeys(now: now)
        let condition = account == nil ? "? IS NULL" : "devices.account = ?"
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT devices.account, first_registered_at, id, wished_relays.relays, read_list.relays, message_list.relays,
                        EXISTS (SELECT 1 FROM partners WHERE device = id)
                    FROM devices
                    LEFT JOIN wished_relays ON wished_relays.device = id
                    LEFT JOIN lists AS read_list ON read_list.author = devices.account AND read_list.kind = 10002
                    LEFT JOIN lists AS message_list
                        ON message_list.author = devices.account AND message_list.kind = 10050
                    WHERE \(condition)
                    ORDER BY devices.account
                    """
            ),
            arguments: [account?.bytes.data]
        )
        var current: WatchedAccount?
        while let row = try rows.next() {
            let key = PublicKey(try bytes(row, at: 0))
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
                    readRelays: Self.relays(row[4]),
                    messageRelays: Self.relays(row[5]),
                    messageKeys: (keys[key] ?? []).filter { $0.until ?? .max > now }.map(\.key),
                    partners: [],
                    isPartnered: true
                )
            account.registeredAt = min(account.registeredAt, row[1] / 1000)
            for relay in Self.relays(row[3])
            where account.relays.count < Self.relaysPerAccount && !account.relays.contains(relay) {
                account.relays.append(relay)
            }
            if row[6] {
                account.partners.formUnion(try partners(of: DeviceID(rawValue: row[2])))
            } else {
                account.isPartnered = false
            }
            current = account
        }
        if let current { try body(current) }
    }

    private static func relays(_ column: String?) -> [String] {
        guard let column else { return [] }
        return column.utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
    }

    func allDevices() throws -> [DeviceID] {
        try all("SELECT id FROM devices").map { DeviceID(rawValue: $0[0]) }
    }

    func areContentsOut() throws -> Bool {
        try one("SELECT 1 FROM meta WHERE name = 'device wishes'") != nil
    }

    func noteContentsAreOut() throws {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('device wishes', 'out')")
    }
}
