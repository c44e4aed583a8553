import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    func listing(of account: PublicKey?, after previous: DeviceID, limit: Int) throws -> [DeviceListing] {
        let narrowed = account.map { $0.bytes.data }
        let rows = try all(
            """
            SELECT devices.id AS id, author, account, device_id, created_at, registered_at, first_registered_at,
                platform, app, mode, signals, further_signals, until,
                EXISTS (SELECT 1 FROM chosen_targets WHERE device = devices.id AND NOT confirmed) AS waits_for_code
            FROM devices JOIN routes ON routes.id = route
            LEFT JOIN listed_devices ON listed_devices.root = account AND listed_devices.device = author
            WHERE devices.id > ? \(narrowed == nil ? "AND ? IS NULL" : "AND account = ?")
            ORDER BY devices.id LIMIT ?
            """,
            [previous.rawValue, narrowed, max(0, limit)]
        )
        let names = SignalNames()
        return try rows.map { row in
            let signals = SignalSet(rawValue: UInt64(bitPattern: row["signals"] as Int64))
            let mode: Int32? = row["mode"]
            return DeviceListing(
                device: DeviceID(rawValue: row["id"]),
                slot: RegistrationSlot(author: try key(row, "author"), deviceID: row["device_id"]),
                account: try key(row, "account"),
                route: Route(platform: row["platform"], app: row["app"]),
                mode: mode.flatMap(Mode.init(rawValue:)),
                signals: Signal.wellKnown.filter { signals.contains(names[$0]) }
                    + Self.signals(row["further_signals"] as String? ?? ""),
                createdAt: row["created_at"],
                registeredAt: row["registered_at"],
                firstRegisteredAt: row["first_registered_at"],
                countsUntil: row["until"],
                waitsForCode: row["waits_for_code"]
            )
        }
    }
}
