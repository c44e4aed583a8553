import GRDB
import Notifications

/// Where a device is, as it is on disk.
struct SealedAddress {
    let bytes: [UInt8]
    /// Whether a push service took a push for its token before.
    let isProven: Bool
}

extension RegistryRows {
    /// Of the device whose number is the first argument.
    static let isProven = "NOT EXISTS (SELECT 1 FROM unproven_devices WHERE device = ?1)"

    /// Whether a push service took a push for the device's token before.
    func isProven(_ device: DeviceID) throws -> Bool {
        try one("SELECT 1 FROM unproven_devices WHERE device = ?", [device.rawValue]) == nil
    }

    /// Says whether a device's token was taken before; what no table of devices knows by now stays out.
    func setProven(_ device: DeviceID, _ isProven: Bool) throws {
        let change =
            isProven
            ? "DELETE FROM unproven_devices WHERE device = ?"
            : "INSERT OR IGNORE INTO unproven_devices (device) VALUES (?)"
        try execute(change, [device.rawValue])
    }
}
