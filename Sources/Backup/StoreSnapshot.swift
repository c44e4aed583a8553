import Delivery
import Foundation
import GRDB
import Glibc
import Registry
import Storage
import Units

/// Copies a store's databases as they all were at one moment, also while a router writes to them.
///
/// A transaction of ours keeps the registry's writers waiting while a read transaction begins on every database. That
/// takes milliseconds. So the copies are what a router finds that was killed at that moment: whatever a relay's mark
/// says was read has its deliveries in the outbox, and every delivery has its device.
package struct StoreSnapshot {
    /// What was copied.
    package struct Copy: Sendable {
        package let role: BackupRole
        package let original: String
        package let path: String
    }

    /// How far it is, in bytes.
    package typealias Progress = (_ done: Int64, _ of: Int64) -> Void

    /// Pages in one step of SQLite's backup: a few milliseconds.
    private static let pagesPerStep: CInt = 2_000

    private let store: String
    private let paths: [BackupRole: String]

    /// `context` is where that file is if it is elsewhere. Without `withCaches` neither trace nor context is copied.
    package init(store: String, context: String? = nil, withCaches: Bool) {
        self.store = store
        var paths: [BackupRole: String] = [:]
        for role in BackupRole.databases where withCaches || role.isEssential {
            paths[role] = role == .context ? context ?? store + "-context" : role.suffix.map { store + $0 }
        }
        self.paths = paths
    }

    /// Copies them into `folder`, each under the name of its role. Calls `held` while the registry's writers wait.
    ///
    /// Throws a `StoreFault` for a database that is missing or cannot be used, and a ``BackupError``.
    package func copy(
        to folder: String,
        held: () throws -> Void = {},
        progress: @escaping Progress = { _, _ in }
    ) throws -> [Copy] {
        let registry = StoreFile(path: store, kind: RegistryStore.kind)
        guard try registry.exists() else {
            throw BackupError(
                "there is nothing to copy: \(store) is missing, which carillon serve makes when it starts"
            )
        }
        try StoreInspection(registry).refuseUnusable()
        let outbox = StoreFile(path: store + "-outbox", kind: Outbox.kind)
        try StoreInspection(outbox).refuseUnusable()

        let sources = try naming(registry) { try open(hold: registry, held) }
        defer { for source in sources { source.end() } }
        let total = sources.reduce(0) { $0 + $1.size }
        var before: Int64 = 0
        var copies: [Copy] = []
        for source in sources {
            let path = folder + "/" + source.role.rawValue
            do {
                try source.copy(to: path, Self.pagesPerStep) { [before] in progress(before + $0, total) }
            } catch let error as DatabaseError {
                guard !source.role.isEssential, error.isDamage else {
                    throw BackupError("cannot copy \(source.path) to \(folder): \(Self.reason(error))")
                }
                // A cache, which the router begins anew.
                unlink(path)
                continue
            }
            before += source.size
            copies.append(Copy(role: source.role, original: source.path, path: path))
        }
        return copies
    }

    /// Why a copy failed. SQLite keeps no message about the database that is written to.
    private static func reason(_ error: DatabaseError) -> String {
        switch error.resultCode {
        case .SQLITE_FULL: "the disk is full"
        case .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN: "the disk refuses (\(error.extendedResultCode))"
        default: "\(error.extendedResultCode)"
        }
    }

    /// Read transactions of one moment.
    private func open(hold registry: StoreFile, _ held: () throws -> Void) throws -> [SnapshotSource] {
        let writer = try SnapshotSource.connection(to: registry.path)
        defer { try? writer.close() }
        let present = BackupRole.databases.compactMap { role in
            paths[role].flatMap { FileManager.default.fileExists(atPath: $0) ? (role, $0) : nil }
        }
        // Connections are made before, so that nobody waits for that.
        let sources = try present.compactMap { role, path in
            do {
                return try SnapshotSource(role, path)
            } catch let error as DatabaseError where !role.isEssential {
                _ = error
                return nil
            }
        }
        try writer.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN IMMEDIATE")
            defer { try? database.execute(sql: "ROLLBACK") }
            for source in sources { try source.begin() }
            try held()
        }
        return sources.filter(\.hasBegun)
    }

    private func naming<Value>(_ file: StoreFile, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreFault(error, in: file.kind, at: file.path)
        }
    }
}

/// A database with a read transaction of ours.
private final class SnapshotSource {
    let role: BackupRole
    let path: String
    private(set) var size: Int64 = 0
    private(set) var hasBegun = false
    private let queue: DatabaseQueue

    init(_ role: BackupRole, _ path: String) throws {
        self.role = role
        self.path = path
        queue = try Self.connection(to: path)
        // Reads the schema, which the transaction then need not.
        _ = try queue.unsafeRead { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
    }

    static func connection(to path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        configuration.allowsUnsafeTransactions = true
        configuration.label = "carillon backup"
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// A cache that cannot be read is left out.
    func begin() throws {
        do {
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "BEGIN DEFERRED")
                // Only reading begins it.
                _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema")
                let pages = try Int64.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                size = pages * (try Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
            }
            hasBegun = true
        } catch let error as DatabaseError where !role.isEssential && error.resultCode != .SQLITE_BUSY {
            _ = error
        }
    }

    /// `progress` receives bytes.
    func copy(to target: String, _ pagesPerStep: CInt, progress: @escaping (Int64) -> Void) throws {
        // Makes it for this user only.
        try FileStream(creating: target).finish()
        let copy = try DatabaseQueue(path: target)
        defer { try? copy.close() }
        try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        let size = size
        try queue.writeWithoutTransaction { source in
            try copy.writeWithoutTransaction { target in
                try source.backup(to: target, pagesPerStep: pagesPerStep) { step in
                    guard step.totalPageCount > 0 else { return }
                    progress(size * Int64(step.completedPageCount) / Int64(step.totalPageCount))
                }
            }
        }
    }

    func end() {
        try? queue.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try? queue.close()
    }
}
