import Cipher
import Core
import Delivery
import Foundation
import GRDB
import Glibc
import Registry
import Storage

/// Copies a store's databases as they all were at one moment, also while a router writes to them.
///
/// A transaction of ours keeps the registry's writers waiting while a read transaction begins on every database. That
/// takes milliseconds. So the copies are what a router finds that was killed at that moment: whatever a relay's mark
/// says was read has its deliveries in the outbox, and every delivery has its device.
package struct StoreSnapshot {
    /// How far it is, in bytes.
    package typealias Progress = (_ done: Int64, _ of: Int64) -> Void

    /// Pages in one step of SQLite's backup: a few milliseconds.
    private static let pagesPerStep: CInt = 2_000

    private let store: String
    private let paths: [BackupRole: String]

    /// `context` is where that file is if it is elsewhere. Without `withCaches` neither trace nor context is copied.
    init(store: String, context: String? = nil, withCaches: Bool) {
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
    func copy(
        to folder: String,
        held: () throws -> Void = {},
        progress: @escaping Progress = { _, _ in }
    ) throws -> [BackupInput] {
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
        var copies: [BackupInput] = []
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
        guard NewSecretFile.create(target, []) == 0 else { throw BackupError.failure("make", target) }
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

/// A folder for files on their way, which only this user can enter. Gone with this value; what a killed process left is
/// removed by the next one.
final class WorkFolder {
    let path: String
    private let descriptor: Int32

    /// Makes a folder whose name begins with `prefix`, a path. Throws a ``BackupError``.
    init(prefix: String) throws {
        Self.removeRemains(of: prefix)
        var template = Array((prefix + "XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            let folder = URL(fileURLWithPath: prefix).deletingLastPathComponent().path
            throw BackupError("cannot make a folder in \(folder): \(String(cString: strerror(errno)))")
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

    /// Those that nobody has locked. Locks end with their processes.
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

/// A backup before it is whole, under a name of its own beside its target. Gone with this value; what a killed process
/// left is removed by the next one.
final class UnfinishedFile {
    let descriptor: Int32
    private let path: String
    private let target: String

    /// Makes a file that only this user can read. Throws a ``BackupError``, also while another process makes it.
    init(for target: String) throws {
        (self.target, path) = (target, target + "-new")
        let former = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        defer { if former >= 0 { close(former) } }
        guard former < 0 || flock(former, LOCK_EX | LOCK_NB) == 0 else {
            throw BackupError("\(path) is being written by another process")
        }
        unlink(path)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw BackupError.failure("make", path) }
        // Locks end with their processes.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit {
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
    }

    /// Has everything on disk, calls `last`, and gives the file its name. Throws a ``BackupError``.
    func finish(_ last: () throws -> Void) throws {
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw BackupError.failure("write", path) }
        try last()
        guard rename(path, target) == 0 else { throw BackupError.failure("make", target) }
        NewSecretFile.flushFolder(of: target)
    }
}
