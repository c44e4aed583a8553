import Foundation
import GRDB
import Nostr
import Push
import Synchronization

/// The log that the registries of several routers share: every transaction in one order.
package protocol RegistryLog: Sendable {
    /// Appends a record if the log has none after `position`. Returns its position, or nil if another record came
    /// first. `id` identifies the record, so that a repeated append has no effect. Throws if the append is uncertain:
    /// the record may still appear later. Blocks.
    func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64?

    /// Returns records after `position`, in order and without a gap, as many as fit; empty if there are none. `bytes`
    /// is nil for an entry that no member wrote. Blocks.
    func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8]?)]

    /// Returns the position of the last record, even if older ones are deleted; 0 if the log never had one. Blocks.
    func lastPosition() throws -> UInt64

    /// Returns the log position that the newest snapshot contains; nil if there is no snapshot. Blocks.
    func snapshotPosition() throws -> UInt64?

    /// Writes the newest snapshot into a file. Returns false if there is none. Blocks.
    func readSnapshot(to file: String) throws -> Bool
}

/// Replicates one registry across all members: a transaction counts once the log contains it directly after everything
/// that this member had seen. A member that was slower rolls back, catches up and retries.
final class RegistryReplica: Sendable {
    /// The in-memory effects of a record: those before the next write, and those once the database is free again.
    struct Consequences: Sendable {
        let atOnce: @Sendable () -> Void
        let later: @Sendable () -> Void
    }

    let log: any RegistryLog
    /// Determines the effects of a record from its rows.
    let follow: @Sendable (RegistryRecord, RegistryRows) throws -> Consequences
    private let prefix: String
    private let count = Atomic<UInt64>(0)
    private let seen = Atomic<UInt64>(0)

    /// `name` is unique to this process.
    init(
        _ log: any RegistryLog,
        name: String,
        follow: @escaping @Sendable (RegistryRecord, RegistryRows) throws -> Consequences
    ) {
        self.log = log
        self.follow = follow
        prefix = name
    }

    func makeRecorder() -> RegistryRecorder {
        RegistryRecorder(id: "\(prefix)-\(count.add(1, ordering: .relaxed).newValue)")
    }

    /// The log position up to which the registry has applied records. Readable from any thread.
    var position: UInt64 { seen.load(ordering: .acquiring) }

    func note(_ position: UInt64) { seen.store(position, ordering: .releasing) }
}

extension RegistryRows {
    private static let position = "shared position"

    /// This registry's position in the shared log; nil: it is not shared.
    func sharedPosition() throws -> UInt64? {
        try one("SELECT value FROM meta WHERE name = ?", [Self.position]).flatMap { UInt64($0[0] as String) }
    }

    func setSharedPosition(_ position: UInt64) throws {
        try execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", [Self.position, "\(position)"])
    }

    func forgetSharedPosition() throws { try execute("DELETE FROM meta WHERE name = ?", [Self.position]) }

    /// Whether this registry has registrations.
    func isUsed() throws -> Bool {
        try one("SELECT 1 WHERE EXISTS (SELECT 1 FROM devices) OR EXISTS (SELECT 1 FROM tombstones)") != nil
    }

    func repeatStatements(of record: RegistryRecord) throws {
        for statement in record.statements {
            let arguments = StatementArguments(statement.values.map(\.databaseValue))
            try db.cachedStatement(sql: statement.sql).execute(arguments: arguments)
        }
    }
}

extension Registry {
    /// Joins the shared registry of several routers: applies the log, and from now on writes only through the log.
    /// `name` is unique to this process. Must be called before the registry is loaded or changed. Throws a
    /// ``RegistryStoreError`` for a registry that has its own registrations.
    package func join(_ log: any RegistryLog, name: String) throws {
        let replica = RegistryReplica(log, name: name) { [self] record, rows in try follow(record, rows) }
        try store.join(replica)
        try store.catchUp()
    }

    /// Applies the records that other members have written. Blocks.
    package func catchUp() throws { try store.catchUp() }

    /// This registry's position in the shared log; 0: it is not shared.
    package var sharedPosition: UInt64 { store.sharedPosition }

    private func follow(_ record: RegistryRecord, _ rows: RegistryRows) throws -> RegistryReplica.Consequences {
        var index: [IndexChange] = []
        let list = record.concernsAccess ? try accessControl.list(from: rows) : nil
        let access = list ?? access
        for touched in record.devices {
            guard let account = PublicKey(hex: touched.account) else { throw RegistryStoreError.unreadableRecord }
            let device = DeviceID(rawValue: touched.device)
            let found = try rows.indexedDevices(ofOrBy: account, opening: secrets.open(preferences:of:))
                .first { $0.device.device == device && $0.device.account == account }
            if var found, try !access.isBlocked(found.author, for: account) && !rows.isOutOfUse(device) {
                found.device.isElsewhere = touched.isElsewhere
                index.append(.put(found.device))
            } else {
                index.append(.remove(device, of: account))
            }
        }
        for account in record.messageKeys.compactMap({ PublicKey(hex: $0) }) {
            index.append(.messageKeys(try rows.messageKeys(of: account), of: account))
        }
        let keys = Set(record.keys.compactMap { PublicKey(hex: $0) })
        return RegistryReplica.Consequences { [self, index] in
            if let list { accessControl.replace(by: list) }
            writer.follow(index)
        } later: { [self] in
            writer.report(keys)
        }
    }
}
