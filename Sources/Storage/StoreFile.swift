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
            if try exists() {
                try StoreInspection(self).refuseUnusable()
            } else {
                try make { try kind.migrator.migrate($0) }
            }
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

    /// A new file at this place, with what `body` puts into it; each of its commits is flushed. It is made beside its
    /// place and moved there when it is whole, so that a killed process leaves either all of it or nothing. It is in
    /// WAL mode by then: turning a file to WAL takes a rollback journal, which must not be left beside a store.
    ///
    /// Where root makes it, it will belong to whom `original` belongs, if that is named: a service could not open
    /// root's.
    func make<Value>(ownedLike original: String? = nil, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let unfinished = StoreFile(path: path + "-new", kind: kind)
        unfinished.remove()
        do {
            let value = try naming { try unfinished.fill(ownedLike: original, body) }
            guard rename(unfinished.path, path) == 0 else { throw StoreFault.system(errno: errno, in: kind, at: path) }
            flushFolder()
            return value
        } catch {
            unfinished.remove()
            throw (error as? StoreFault).map { fault($0.cause) } ?? error
        }
    }

    private func remove() {
        for end in ["", "-journal", "-wal", "-shm"] { unlink(path + end) }
    }

    private func fill<Value>(ownedLike original: String?, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let descriptor = Self.make(path)
        guard descriptor >= 0 else { throw StoreFault.system(errno: errno, in: kind, at: path) }
        do {
            // Closed before SQLite opens it, as closing a file lets go of all locks that the process has on it.
            defer { close(descriptor) }
            if let original { try giveAway(descriptor, like: original) }
        }
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        let value = try body(queue)
        // Nothing is written after this, so closing leaves no log behind.
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        return value
    }

    /// A connection that may only read neither turns a foreign file to WAL nor copies a log into a damaged one.
    package func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try naming {
            try rollBackInterruptedTransaction()
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            return try queue.unsafeRead(body)
        }
    }

    /// Lets SQLite undo what a killed process left half done. The rollback journal holds the pages as they were;
    /// without it the file is no whole database, and a connection that may only read cannot apply it. Another process
    /// that is writing keeps its journal.
    func rollBackInterruptedTransaction() throws {
        guard let size = Self.size(of: path + "-journal"), size > 0 else { return }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        _ = try queue.unsafeRead { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
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
