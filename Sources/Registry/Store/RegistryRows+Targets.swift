import Core
import Foundation
import GRDB
import Push

/// A device that has or claims a chosen target.
struct TargetHolder: Hashable {
    var device: RegisteredDevice
    var route: Route
    /// Whether its account owns the target; false: it waits for the code.
    var isConfirmed: Bool
    /// When a code was last pushed to it for another account.
    var askedAt: Timestamp?
}

extension RegistryRows {
    /// The devices that have or claim the chosen target of that handle, oldest first.
    func holders(ofTarget target: [UInt8]) throws -> [TargetHolder] {
        try all(
            """
            SELECT \(Self.holderColumns), confirmed, asked_at, platform, app
            FROM chosen_targets JOIN devices ON devices.id = device JOIN routes ON routes.id = route
            WHERE target = ? ORDER BY device
            """,
            [Data(target)]
        ).map { row in
            TargetHolder(
                device: try holder(row),
                route: Route(platform: row["platform"], app: row["app"]),
                isConfirmed: row["confirmed"],
                askedAt: row["asked_at"]
            )
        }
    }

    /// Whether a device owns a chosen target; false if it waits for its code or has no such target.
    func hasChosenTarget(_ device: DeviceID) throws -> Bool {
        try one("SELECT 1 FROM chosen_targets WHERE device = ? AND confirmed", [device.rawValue]) != nil
    }

    /// Whether a device waits for the code of its target.
    func waitsForCode(_ device: DeviceID) throws -> Bool {
        try one("SELECT 1 FROM chosen_targets WHERE device = ? AND NOT confirmed", [device.rawValue]) != nil
    }

    /// The devices that wait for their code. They receive no pushes.
    func devicesThatWaitForCodes() throws -> Set<DeviceID> {
        Set(try all("SELECT device FROM chosen_targets WHERE NOT confirmed").map { DeviceID(rawValue: $0[0]) })
    }

    /// Replaces the chosen target of a device; nil if it has none.
    func putTarget(_ target: [UInt8]?, of device: DeviceID, isConfirmed: Bool) throws {
        guard let target else { return try execute("DELETE FROM chosen_targets WHERE device = ?", [device.rawValue]) }
        try execute(
            """
            INSERT INTO chosen_targets (device, target, confirmed) VALUES (?, ?, ?)
            ON CONFLICT (device) DO UPDATE SET
                asked_at = CASE WHEN target = excluded.target THEN asked_at END,
                target = excluded.target, confirmed = excluded.confirmed
            """,
            [device.rawValue, Data(target), isConfirmed]
        )
    }

    func noteCodePushed(to device: DeviceID, at now: Timestamp) throws {
        try execute("UPDATE chosen_targets SET asked_at = ? WHERE device = ?", [now, device.rawValue])
    }

    /// The devices on a platform whose chosen targets are in their sealed addresses only.
    func devicesWithoutTargets(on platform: String) throws -> [DeviceID] {
        try all(
            """
            SELECT devices.id FROM devices JOIN routes ON routes.id = route
            WHERE platform = ? AND devices.id NOT IN (SELECT device FROM chosen_targets)
            """,
            [platform]
        ).map { DeviceID(rawValue: $0[0]) }
    }
}
