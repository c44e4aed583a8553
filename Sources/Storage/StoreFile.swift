import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A database file whose loss would be noticed: it is looked at before anything changes it, and refused when something is wrong.
package struct StoreFile: Sendable {
    package let path: String
    package let kind: StoreKind

    package init(path: String, kind: StoreKind) {
        self.path = path
        self.kind = kind
    }

    /// Opens the database, or makes one where there is none, readable by this user only; brings its tables up to date. Every
    /// commit of the writer is flushed (`synchronous = FULL` in WAL mode), which is read back.
    ///
    /// Throws a ``StoreFault`` for what is damaged, another program's or a newer version's, and leaves it as it was.
    package func open(_ configuration: Configuration) throws -> DatabasePool {
        try naming {
            if try exists() { try StoreInspection(self).refuseUnusable() } else { try create() }
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { database in
                // A pool that turns to WAL sets NORMAL, which loses commits when the power fails.
                try database.execute(sql: "PRAGMA synchronous = FULL")
                guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
                    try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
                else { throw fault(.notDurable) }
            }
            try kind.migrator.migrate(pool)
            return pool
        }
    }

    func fault(_ cause: StoreFault.Cause) -> StoreFault { StoreFault(cause, in: kind, at: path) }

    func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreFault(error, in: kind, at: path)
        }
    }

    /// Throws for what only looks as if there were none: it would be lost by beginning anew.
    package func exists() throws(StoreFault) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw fault(.cannotOpen("it is no file")) }
            guard status.st_size > 0 else { throw fault(.empty) }
            return true
        }
        let number = errno
        guard number == ENOENT else { throw .system(errno: number, in: kind, at: path) }
        guard lstat(path, &status) != 0 else { throw fault(.cannotOpen("it is a link to what is not there")) }
        if stat(path + "-wal", &status) == 0, status.st_size > 0 { throw fault(.withoutItsFile) }
        return false
    }

    /// Makes the database beside its place and moves it there when it is whole, so that an empty file is never one of ours.
    private func create() throws {
        let unfinished = StoreFile(path: path + "-new", kind: kind)
        for end in ["", "-journal", "-wal", "-shm"] { unlink(unfinished.path + end) }
        do {
            try unfinished.make { try kind.migrator.migrate($0) }.close()
            guard rename(unfinished.path, path) == 0 else { throw StoreFault.system(errno: errno, in: kind, at: path) }
        } catch let fault as StoreFault {
            unlink(unfinished.path)
            throw self.fault(fault.cause)
        }
        flushFolder()
    }

    /// A new file at this place, with what `body` puts into it; each of its commits is flushed. Where root makes it, it will belong
    /// to whom `original` belongs, if that is named: a service could not open root's.
    func make(ownedLike original: String? = nil, _ body: (DatabaseQueue) throws -> Void) throws -> DatabaseQueue {
        let descriptor = Self.make(path)
        guard descriptor >= 0 else { throw StoreFault.system(errno: errno, in: kind, at: path) }
        do {
            // Closed before SQLite opens it, as closing a file lets go of all locks that the process has on it.
            defer { close(descriptor) }
            if let original { try giveAway(descriptor, like: original) }
        }
        return try naming {
            let queue = try DatabaseQueue(path: path)
            try body(queue)
            return queue
        }
    }

    /// A connection that may only read neither turns a foreign file to WAL nor copies a log into a damaged one.
    package func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try naming {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            return try queue.unsafeRead(body)
        }
    }

    private func giveAway(_ descriptor: Int32, like original: String) throws(StoreFault) {
        var status = stat()
        guard geteuid() == 0, stat(original, &status) == 0 else { return }
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw .system(errno: errno, in: kind, at: path)
        }
    }

    private static func make(_ path: String) -> Int32 {
        // Swift names `open` in this type's own scope first.
        #if canImport(Glibc)
        Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        #else
        Musl.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        #endif
    }

    /// In bytes; nil when there is no such file.
    static func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// So that the name survives a power cut too. Not every file system can; then it is SQLite's to see to.
    private func flushFolder() {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}
