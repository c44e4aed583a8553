import Cipher
import Core
import Delivery
import Foundation
import GRDB
import Glibc
import Registry
import Storage

/// Copies a store's databases as of one moment, even while a router writes to them.
///
/// A write transaction blocks the registry's writers for a few milliseconds, until a read transaction has started on
/// each database. So the copies are consistent, as after a crash at that moment. Each event that a relay's position
/// covers has its deliveries in the outbox, and each delivery has its device.
package struct StoreSnapshot {
    /// Receives the progress in bytes.
    package typealias Progress = (_ done: Int64, _ of: Int64) -> Void

    /// Pages in one step of SQLite's backup, which takes a few milliseconds.
    private static let pagesPerStep: CInt = 2_000

    private let store: String
    private let paths: [BackupRole: String]

    /// `context` is the path of that file if it is not next to the store. `withCaches` includes trace and context.
    init(store: String, context: String? = nil, withCaches: Bool) {
        self.store = store
        var paths: [BackupRole: String] = [:]
        for role in BackupRole.databases where withCaches || role.isEssential {
            paths[role] = role == .context ? context ?? store + "-context" : role.suffix.map { store + $0 }
        }
        self.paths = paths
    }

    /// Copies the databases into `folder`, each named by its role. Calls `held` while the registry's writers wait.
    ///
    /// Throws a `StoreError` for a missing or unusable database, and a ``BackupError``.
    func copy(
        to folder: String,
        held: () throws -> Void = {},
        progress: @escaping Progress = { _, _ in }
    ) throws -> [BackupInput] {
        let registry = StoreFile(path: store, kind: RegistryStore.kind)
        guard try registry.exists() else {
            throw BackupError(
                "there is no store to copy: \(store) is missing. carillon serve creates it when it starts"
            )
        }
        try StoreInspection(registry).refuseUnusable()
        let outbox = StoreFile(path: store + "-outbox", kind: Outbox.kind)
        try StoreInspection(outbox).refuseUnusable()

        let sources = try naming(registry) { try open(hold: registry, held) }
        defer { for source in sources { source.end() } }
        let total = sources.reduce(0) { $0 + $1.size }
        var before: Int64 = 0
        var copies: [BackupInput] = []
        for source in sources {
            let path = folder + "/" + source.role.rawValue
            do {
                try source.copy(to: path, Self.pagesPerStep) { [before] in progress(before + $0, total) }
            } catch let error as DatabaseError {
                guard !source.role.isEssential, error.isDamage else {
                    throw BackupError("cannot copy \(source.path) to \(folder): \(Self.reason(error))")
                }
                // The router recreates this cache.
                unlink(path)
                continue
            }
            before += source.size
            copies.append(
                BackupInput(
                    role: source.role,
                    name: source.role.rawValue + ".sqlite",
                    path: path,
                    original: source.path
                )
            )
        }
        return copies
    }

    /// Returns the reason for a failed copy. SQLite has no message about the database that it writes to.
    private static func reason(_ error: DatabaseError) -> String {
        switch error.resultCode {
        case .SQLITE_FULL: "the disk is full"
        case .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN: "disk error (\(error.extendedResultCode))"
        default: "\(error.extendedResultCode)"
        }
    }

    /// Opens read transactions of the same moment.
    private func open(hold registry: StoreFile, _ held: () throws -> Void) throws -> [SnapshotSource] {
        let writer = try SnapshotSource.connection(to: registry.path)
        defer { try? writer.close() }
        let present = BackupRole.databases.compactMap { role in
            paths[role].flatMap { FileManager.default.fileExists(atPath: $0) ? (role, $0) : nil }
        }
        // Opens the connections first, so that writers do not wait for that.
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
            throw StoreError(error, in: file.kind, at: file.path)
        }
    }
}

/// A database with an open read transaction.
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
        // Reads the schema before the transaction, to keep the transaction short.
        _ = try queue.unsafeRead { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
    }

    static func connection(to path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        configuration.allowsUnsafeTransactions = true
        configuration.label = "carillon backup"
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Starts the transaction. Skips an unreadable cache.
    func begin() throws {
        do {
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "BEGIN DEFERRED")
                // SQLite starts a deferred transaction at the first read.
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
        // Creates the file with access only for this user.
        try NewSecretFile.make(target)
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

/// A directory for temporary files that only this user can enter. Removed with this value; the next one removes the
/// directories of killed processes.
final class WorkFolder {
    let path: String
    private let descriptor: Int32

    /// Makes a directory whose path starts with `prefix`. Throws a ``BackupError``.
    init(prefix: String) throws {
        Self.removeRemains(of: prefix)
        var template = Array((prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            let folder = URL(fileURLWithPath: prefix).deletingLastPathComponent().path
            throw BackupError("cannot create a folder in \(folder): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if descriptor >= 0 { close(descriptor) }
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Removes directories that no process has locked. The kernel releases a lock when its process ends.
    private static func removeRemains(of prefix: String) {
        let url = URL(fileURLWithPath: prefix)
        let folder = url.deletingLastPathComponent().path
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix(url.lastPathComponent), name.count == url.lastPathComponent.count + 6 else { continue }
            let descriptor = open(folder + "/" + name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
    }
}

/// An incomplete backup under a temporary name next to its target. Removed with this value; the next one removes the
/// file of a killed process.
final class UnfinishedFile {
    let descriptor: Int32
    private let path: String
    private let target: String

    /// Makes a file that only this user can read. Throws a ``BackupError``, including if another process is writing it.
    init(for target: String) throws {
        (self.target, path) = (target, target + "-new")
        let former = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        defer { if former >= 0 { close(former) } }
        guard former < 0 || flock(former, LOCK_EX | LOCK_NB) == 0 else {
            throw BackupError("\(path) is being written by another process")
        }
        unlink(path)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw BackupError.failure("create", path) }
        // The kernel releases the lock when the process ends.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit {
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
    }

    /// Flushes the file to disk, calls `last`, and renames the file to its target. Throws a ``BackupError``.
    func finish(_ last: () throws -> Void) throws {
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw BackupError.failure("write", path) }
        try last()
        guard rename(path, target) == 0 else { throw BackupError.failure("create", target) }
        NewSecretFile.flushFolder(of: target)
    }
}
