import Foundation
import GRDB
import Notifications

/// A device of the sealed ingress as it is on disk.
struct IngressDeviceRow {
    let device: DeviceID
    /// Milliseconds since 1970, as exactly as ``IngressDeviceLimits/exactness`` says.
    let usedAt: Int64
    /// When its push service called it gone, in milliseconds since 1970; nil: it did not.
    let goneAt: Int64?
}

extension RegistryRows {
    func ingressDevice(of handle: [UInt8]) throws -> IngressDeviceRow? {
        try one("SELECT id, used_at, gone_at FROM ingress_devices WHERE handle = ?", [Data(handle)]).map {
            IngressDeviceRow(device: DeviceID(ingressRow: $0[0]), usedAt: $0[1], goneAt: $0[2])
        }
    }

    /// Adds a device without an address.
    func addIngressDevice(handle: [UInt8], now: Int64) throws -> DeviceID {
        try execute("INSERT INTO ingress_devices (handle, used_at) VALUES (?, ?)", [Data(handle), now])
        return DeviceID(ingressRow: db.lastInsertedRowID)
    }

    func useIngressDevice(_ device: DeviceID, now: Int64) throws {
        try execute("UPDATE ingress_devices SET used_at = ? WHERE id = ?", [now, device.ingressRow])
    }

    /// Says where a device is, which makes it alive.
    func putIngressAddress(of device: DeviceID, _ sealed: [UInt8]) throws {
        try execute(
            "UPDATE ingress_devices SET address = ?, gone_at = NULL WHERE id = ?",
            [Data(sealed), device.ingressRow]
        )
    }

    func markIngressDeviceGone(_ device: DeviceID, now: Int64) throws {
        try execute("UPDATE ingress_devices SET address = NULL, gone_at = ? WHERE id = ?", [now, device.ingressRow])
    }

    func ingressDeviceCount() throws -> Int {
        try one("SELECT count FROM ingress_device_count")?[0] ?? 0
    }

    /// Forgets the device that was not used for the longest time; where all were used since `limit`, the one that was gone first, to
    /// which nothing is under way. Nil when there is none of either.
    func evictIngressDevice(unusedSince limit: Int64) throws -> DeviceID? {
        let oldest = "SELECT id FROM ingress_devices WHERE used_at < ? ORDER BY used_at LIMIT 1"
        let gone = "SELECT id FROM ingress_devices WHERE gone_at IS NOT NULL ORDER BY gone_at LIMIT 1"
        guard let row = try one(oldest, [limit]) ?? one(gone) else { return nil }
        let device = DeviceID(ingressRow: row[0])
        try execute("DELETE FROM ingress_devices WHERE id = ?", [device.ingressRow])
        return device
    }

    func sealedIngressAddress(of device: DeviceID) throws -> SealedAddress? {
        let sql = "SELECT address, \(Self.isProven) FROM ingress_devices WHERE id = -?1"
        return try one(sql, [device.rawValue]).flatMap { row in
            (row[0] as Data?).map { SealedAddress(bytes: Array($0), isProven: row[1]) }
        }
    }
}
