import Foundation
import GRDB
import Nostr
import Push
import Storage

/// Examines every row of a registry's file without changing it, even while a router uses it.
package struct RegistryExamination: Sendable {
    /// The result of an examination.
    package struct Report: Sendable {
        package var devices = 0
        /// Problems found, one sentence each, without secrets.
        package var findings: [String] = []
        /// Whether the database file itself is damaged, not only the content of single rows.
        package var isDamaged = false
    }

    private static let maxFindings = 20

    private let file: StoreFile
    private let identity: KeyPair?

    /// Without `identity`, sealed values are not examined.
    package init(path: String, identity: KeyPair?) {
        file = StoreFile(path: path, kind: RegistryStore.kind)
        self.identity = identity
    }

    /// Throws a `StoreError` if the file cannot be opened or is not a registry.
    package func run() throws -> Report {
        guard try file.exists() else { return Report() }
        var report = Report(findings: try StoreInspection(file).thoroughFindings())
        report.isDamaged = !report.findings.isEmpty
        guard !report.isDamaged else { return report }
        try file.reading { database in
            report.devices = try Int.fetchOne(database, sql: "SELECT count(*) FROM devices") ?? 0
            try lookAtEvents(database, &report)
            guard let identity else { return }
            let table = try RegistryRows(database).routerKeys().completed(by: identity.publicKey)
            let owner = try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'identity'")
            let key = identity.publicKey.hex
            guard table.current?.key.hex ?? owner ?? key == key else {
                return report.findings.append("it belongs to another identity: use the key file it was made with")
            }
            guard let own = try? OwnKeys(table, identity: identity, path: file.path) else {
                return report.findings.append("\(RegistryStoreError.unreadableKeys)")
            }
            let vault = try TokenVault(own.ring, random: { _ in [] })
            try lookIntoSeals(database, vault, &report)
            try lookIntoPluginStates(database, vault, &report)
        }
        return report
    }

    private func lookIntoSeals(_ database: Database, _ vault: TokenVault, _ report: inout Report) throws {
        let rows = try Row.fetchCursor(database, sql: "SELECT device, address, content FROM secrets")
        while let row = try rows.next(), report.findings.count < Self.maxFindings {
            let device = DeviceID(rawValue: row[0])
            let isReadable: Bool
            do {
                let address = try vault.open(Array(row[1] as Data), of: device, for: .address)
                _ = try vault.open(Array(row[2] as Data), of: device, for: .content)
                isReadable = AddressCodec.decode(address) != nil
            } catch {
                isReadable = false
            }
            if !isReadable {
                report.findings.append("the secrets of device \(device.rawValue) are damaged: it has to register again")
            }
        }
    }

    private func lookIntoPluginStates(
        _ database: Database,
        _ vault: TokenVault,
        _ report: inout Report
    ) throws {
        let sql = "SELECT name, sealed FROM plugin_states JOIN plugin_owners ON owner = id"
        let rows = try Row.fetchCursor(database, sql: sql)
        while let row = try rows.next(), report.findings.count < Self.maxFindings {
            let owner: String = row[0]
            guard vault.openState(Array(row[1] as Data), ofOwner: owner) == nil else { continue }
            report.findings.append("stored state of the plugin of \(owner) is damaged: the plugin continues without it")
        }
    }

    private func lookAtEvents(_ database: Database, _ report: inout Report) throws {
        let rows = try Row.fetchCursor(database, sql: "SELECT author, json FROM own_events")
        while let row = try rows.next(), report.findings.count < Self.maxFindings {
            guard (try? Event(json: Array((row[1] as String).utf8))) == nil else { continue }
            let author = PublicKey(bytes: row[0] as Data).map(\.hex) ?? "nobody"
            report.findings.append("an event kept of \(author) cannot be read: its author has to publish it again")
        }
    }
}

/// The main facts about a registry's file, read without changing it, even while a router uses it.
package struct RegistrySummary: Sendable {
    /// The public key that it was made for, in hexadecimal digits; nil: not claimed yet.
    package let owner: String?
    package let hasDevices: Bool
    private let next: PublicKey?

    /// Whether `key` opens it: it is the owner's key, or the next one of a change in progress.
    package func isOpened(by key: PublicKey) -> Bool { owner == nil || owner == key.hex || next == key }

    /// Returns nil if the file does not exist. Throws a `StoreError` if it cannot be read or is not a registry.
    package init?(path: String) throws {
        let file = StoreFile(path: path, kind: RegistryStore.kind)
        guard try file.exists() else { return nil }
        (owner, hasDevices, next) = try file.reading { database in
            (
                try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'identity'"),
                try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM devices)") ?? false,
                try RegistryRows(database).routerKeys().next?.key
            )
        }
    }
}
