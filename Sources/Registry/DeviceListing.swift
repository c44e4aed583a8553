import Core
import Foundation
import GRDB
import Nostr
import Push

/// A device as operators see it, without anything that would allow pushing to it.
package struct DeviceListing: Hashable, Sendable {
    package var device: DeviceID
    package var slot: RegistrationSlot
    /// The account that the device belongs to.
    package var account: PublicKey
    package var route: Route
    package var mode: Mode?
    /// The signals that it wants, the well-known ones first.
    package var signals: [Signal]
    /// The registration's `created_at`, in seconds since 1970.
    package var createdAt: Int64
    package var registeredAt: Timestamp
    /// When it was first registered.
    package var firstRegisteredAt: Timestamp
    /// When the device stops counting, because the newest kind 10050 of its account no longer names it. Nil if the list
    /// names the device or the account registered it itself.
    package var countsUntil: Timestamp?
    /// Whether the target belongs to another account, so the router sends no pushes there for this one.
    package var waitsForCode: Bool
    /// Nil if it is not disabled.
    package var suspension: DeviceSuspension?
}

/// A number of devices that share the properties shown in counts.
package struct DeviceCount: Hashable, Sendable {
    package var route: Route
    package var mode: Mode?
    /// The language that the app registered, such as `de`; empty if it is not known.
    package var language: String
    package var count: Int
}

/// A registration that has no effect until its root identity's kind 10050 names the key that signed it.
package struct WaitingRegistration: Hashable, Sendable {
    package var slot: RegistrationSlot
    package var root: PublicKey
    /// Its `created_at`, in seconds since 1970.
    package var createdAt: Int64
}

extension Registry {
    /// Returns up to `limit` devices after `previous`, ordered by number. `account` restricts the result to one
    /// account.
    package func devices(
        of account: PublicKey? = nil,
        after previous: DeviceID? = nil,
        limit: Int = 1000
    ) throws -> [DeviceListing] {
        try store.read { try $0.listing(of: account, after: previous ?? DeviceID(rawValue: 0), limit: limit) }
    }

    /// Counts registered devices by their shared properties. The same combination may occur several times.
    package func deviceCounts() throws -> [DeviceCount] { try store.read { try $0.deviceCounts() } }

    /// Returns a device; nil if it is no longer registered.
    package func listing(of device: DeviceID) throws -> DeviceListing? {
        let previous = DeviceID(rawValue: device.rawValue - 1)
        return try devices(after: previous, limit: 1).first { $0.device == device }
    }

    /// Returns registrations that wait for `root`, or for any root identity if it is nil, in order of arrival.
    package func waitingRegistrations(for root: PublicKey? = nil, limit: Int = 1000) throws -> [WaitingRegistration] {
        try store.readOnce { try $0.waitingRegistrations(for: root, limit: limit) }
    }
}

extension RegistryRows {
    func listing(of account: PublicKey?, after previous: DeviceID, limit: Int) throws -> [DeviceListing] {
        let narrowed = account.map { $0.bytes.data }
        let rows = try all(
            """
            SELECT devices.id AS id, author, account, device_id, created_at, registered_at, first_registered_at,
                platform, app, mode, signals, further_signals, until, disabled_at, failing_since,
                EXISTS (SELECT 1 FROM chosen_targets WHERE device = devices.id AND NOT confirmed) AS waits_for_code
            FROM devices JOIN routes ON routes.id = route
            LEFT JOIN listed_devices ON listed_devices.root = account AND listed_devices.device = author
            LEFT JOIN disabled_devices ON disabled_devices.device = devices.id
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
                waitsForCode: row["waits_for_code"],
                suspension: (row["disabled_at"] as Timestamp?).map { disabledAt in
                    DeviceSuspension(disabledAt: disabledAt, failingSince: row["failing_since"])
                }
            )
        }
    }

    func deviceCounts() throws -> [DeviceCount] {
        try all(
            """
            SELECT platform, app, mode, locale, count(*) AS count
            FROM devices JOIN routes ON routes.id = route GROUP BY route, mode, locale
            """
        ).map { row in
            let mode: Int32? = row["mode"]
            return DeviceCount(
                route: Route(platform: row["platform"], app: row["app"]),
                mode: mode.flatMap(Mode.init(rawValue:)),
                language: DeviceSecrets.language(row["locale"]),
                count: row["count"]
            )
        }
    }

    func waitingRegistrations(for root: PublicKey?, limit: Int) throws -> [WaitingRegistration] {
        try all(
            """
            SELECT author, device_id, root, created_at FROM waiting
            WHERE root = ?1 OR ?1 IS NULL ORDER BY number LIMIT ?2
            """,
            [root?.bytes.data, max(0, limit)]
        ).map { row in
            WaitingRegistration(
                slot: RegistrationSlot(author: try key(row, "author"), deviceID: row["device_id"]),
                root: try key(row, "root"),
                createdAt: row["created_at"]
            )
        }
    }
}
