import Foundation
import GRDB
import Nostr
import Push

/// Reseals every value under the newest root, some rows per transaction, so that it can stop and resume anywhere.
struct Resealing {
    static let batch = 500

    private let store: RegistryStore
    private let vault: TokenVault

    init(store: RegistryStore, vault: TokenVault) {
        self.store = store
        self.vault = vault
    }

    /// Returns the number of resealed values. A value that cannot be opened stays unchanged until its owner registers
    /// again.
    func run(progress: (Int) throws -> Void) throws -> Int {
        var (seen, sealed) = (0, 0)
        for column in [SealedColumn.addresses, .contents, .preferences, .ingressAddresses, .pluginStates] {
            var last: Int64?
            repeat {
                let from = last
                last = try store.writeHere { rows in
                    let page = try rows.sealed(column, after: from, limit: Self.batch)
                    for value in page where vault.isOutdated(value.bytes) {
                        guard let resealed = reseal(value, column) else { continue }
                        try rows.put(resealed, in: column, value.row)
                        sealed += 1
                    }
                    seen += page.count
                    return page.last?.row
                }
                try progress(seen)
            } while last != nil
        }
        return sealed
    }

    private func reseal(_ value: SealedValue, _ column: SealedColumn) -> [UInt8]? {
        switch column.owner {
        case .device(let purpose):
            let device = value.device
            return (try? vault.open(value.bytes, of: device, for: purpose)).flatMap {
                try? vault.seal($0, of: device, for: purpose)
            }
        case .plugin:
            return vault.openState(value.bytes, ofOwner: value.owner).flatMap {
                try? vault.seal($0, ofOwner: value.owner)
            }
        }
    }
}

/// A column with sealed values.
private struct SealedColumn {
    enum Owner {
        case device(TokenVault.Purpose)
        case plugin
    }

    let owner: Owner
    /// Reads the row number, the owner and the sealed value, ordered by number.
    let select: String
    let update: String

    static let addresses = secrets("address", .address)
    static let contents = secrets("content", .content)
    static let preferences = SealedColumn(
        owner: .device(.preferences),
        select: "SELECT id, id, wishes FROM devices WHERE id > ? AND wishes IS NOT NULL ORDER BY id LIMIT ?",
        update: "UPDATE devices SET wishes = ? WHERE id = ?"
    )
    // A device of the sealed ingress has the number of its row below 0.
    static let ingressAddresses = SealedColumn(
        owner: .device(.address),
        select: "SELECT id, -id, address FROM ingress_devices WHERE id > ? AND address IS NOT NULL ORDER BY id LIMIT ?",
        update: "UPDATE ingress_devices SET address = ? WHERE id = ?"
    )
    static let pluginStates = SealedColumn(
        owner: .plugin,
        select: """
            SELECT plugin_states.rowid, name, sealed FROM plugin_states JOIN plugin_owners ON owner = id
            WHERE plugin_states.rowid > ? ORDER BY plugin_states.rowid LIMIT ?
            """,
        update: "UPDATE plugin_states SET sealed = ? WHERE rowid = ?"
    )

    private static func secrets(_ column: String, _ purpose: TokenVault.Purpose) -> SealedColumn {
        SealedColumn(
            owner: .device(purpose),
            select: "SELECT device, device, \(column) FROM secrets WHERE device > ? ORDER BY device LIMIT ?",
            update: "UPDATE secrets SET \(column) = ? WHERE device = ?"
        )
    }
}

private struct SealedValue {
    let row: Int64
    /// The owner, if it is a device.
    let device: DeviceID
    /// The owner, if it is a plugin.
    let owner: String
    let bytes: [UInt8]
}

extension RegistryRows {
    fileprivate func sealed(_ column: SealedColumn, after row: Int64?, limit: Int) throws -> [SealedValue] {
        try all(column.select, [row ?? .min, limit]).map { row in
            var device = DeviceID(rawValue: 0)
            var owner = ""
            switch column.owner {
            case .device: device = DeviceID(rawValue: row[1])
            case .plugin: owner = row[1]
            }
            return SealedValue(row: row[0], device: device, owner: owner, bytes: Array(row[2] as Data))
        }
    }

    fileprivate func put(_ sealed: [UInt8], in column: SealedColumn, _ row: Int64) throws {
        try execute(column.update, [Data(sealed), row])
    }

    func devices(registeredTo routerKey: Int, limit: Int) throws -> [RegisteredDevice] {
        try all("SELECT \(Self.holderColumns) FROM devices WHERE router_key = ? LIMIT ?", [routerKey, limit]).map(
            holder
        )
    }
}
