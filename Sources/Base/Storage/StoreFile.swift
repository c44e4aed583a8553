import Core
import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A database file with valuable data: it is checked before any change, and refused if there is a problem.
package struct StoreFile: Sendable {
    package let path: String
    package let kind: StoreKind

    package init(path: String, kind: StoreKind) {
        _ = SQLiteMemory.isUncounted
        self.path = path
        self.kind = kind
    }

    /// Opens the database, or creates one that only this user can read, and migrates its tables. Every commit of the
    /// writer is flushed (`synchronous = FULL` in WAL mode), which is verified.
    ///
    /// Throws a ``StoreError`` for a file that is damaged, another program's or of an unknown format, and does not
    /// change it.
    package func open(_ configuration: Configuration) throws -> DatabasePool {
        try naming {
            if try exists() {
                try StoreInspection(self).refuseUnusable()
            } else {
                try make { try kind.migrator.migrate($0) }
            }
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { database in
                // A pool that switches to WAL sets NORMAL, which loses commits in a power failure.
                try database.execute(sql: "PRAGMA synchronous = FULL")
                guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
                    try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
                else { throw fault(.notDurable) }
            }
            try kind.migrator.migrate(pool)
            return pool
        }
    }

    /// Opens a database that a router may be writing to, without changing it. Its pages are not checked, because the
    /// router did that.
    ///
    /// Throws a ``StoreError`` if there is none, or if it is damaged, another program's or another version's.
    package func openForReading(_ configuration: Configuration) throws -> DatabasePool {
        try naming {
            guard try exists() else { throw fault(.cannotOpen("it does not exist yet")) }
            try rollBackInterruptedTransaction()
            var configuration = configuration
            configuration.readonly = true
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.read { database in
                try StoreInspection(self).refuseStranger(database)
                guard try kind.migrator.hasCompletedMigrations(database) else { throw fault(.unmigrated) }
            }
            return pool
        }
    }

    func fault(_ cause: StoreError.Cause) -> StoreError { StoreError(cause, in: kind, at: path) }

    /// Runs `body` and throws a ``StoreError`` instead of SQLite's errors.
    package func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error, in: kind, at: path)
        }
    }

    /// Whether the file exists. Throws if it only seems to be missing, because creating a new one would lose it.
    package func exists() throws(StoreError) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw fault(.cannotOpen("it is not a regular file")) }
            guard status.st_size > 0 else { throw fault(.empty) }
            return true
        }
        let number = errno
        guard number == ENOENT else { throw .system(errno: number, in: kind, at: path) }
        guard lstat(path, &status) != 0 else { throw fault(.cannotOpen("it is a link to a missing file")) }
        if stat(path + "-wal", &status) == 0, status.st_size > 0 { throw fault(.withoutItsFile) }
        return false
    }

    /// Creates a file at this path and lets `body` fill it; each commit is flushed. The file is created under a name
    /// that ends in `-new`, and renamed when it is complete, so that a killed process leaves no partial file. By then
    /// it is in WAL mode: switching to WAL needs a rollback journal, which must not be left next to a store.
    ///
    /// If root creates it, it gets the owner of the file `original`, because a service could not open root's file.
    func make<Value>(ownedLike original: String? = nil, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let unfinished = StoreFile(path: path + "-new", kind: kind)
        unfinished.remove()
        do {
            let value = try naming { try unfinished.fill(ownedLike: original, body) }
            guard rename(unfinished.path, path) == 0 else { throw StoreError.system(errno: errno, in: kind, at: path) }
            flushFolder()
            return value
        } catch {
            unfinished.remove()
            throw (error as? StoreError).map { fault($0.cause) } ?? error
        }
    }

    private func remove() {
        for end in ["", "-journal", "-wal", "-shm"] { unlink(path + end) }
    }

    private func fill<Value>(ownedLike original: String?, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        let descriptor = Self.make(path)
        guard descriptor >= 0 else { throw StoreError.system(errno: errno, in: kind, at: path) }
        do {
            // Closed before SQLite opens it, because closing a file releases all locks of the process on it.
            defer { close(descriptor) }
            if let original { try giveAway(descriptor, like: original) }
        }
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        let value = try body(queue)
        // No write follows, so closing leaves no log.
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        return value
    }

    /// Reads through a read-only connection, which neither switches a foreign file to WAL nor copies a log into a
    /// damaged one.
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

    /// Lets SQLite roll back the transaction of a killed process. Without its rollback journal the file is not a
    /// consistent database, and a read-only connection cannot apply the journal. The journal of a process that is
    /// writing is kept.
    private func rollBackInterruptedTransaction() throws {
        guard let size = Self.size(of: path + "-journal"), size > 0 else { return }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        _ = try queue.unsafeRead { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
    }

    private func giveAway(_ descriptor: Int32, like original: String) throws(StoreError) {
        var status = stat()
        guard geteuid() == 0, stat(original, &status) == 0 else { return }
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw .system(errno: errno, in: kind, at: path)
        }
    }

    private static func make(_ path: String) -> Int32 {
        // In this scope, Swift would resolve `open` to this type's method.
        #if canImport(Glibc)
        Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        #else
        Musl.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        #endif
    }

    /// Returns the size in bytes; nil if there is no such file.
    static func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Flushes the directory, so that the name survives a power failure. If the file system cannot do that, this relies
    /// on SQLite.
    private func flushFolder() {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}

/// A kind of database, with the data for opening it and for error messages.
package struct StoreKind: Sendable {
    /// Its name in a sentence, such as "the registry".
    package let name: String
    /// The consequence of starting with an empty one: the end of a sentence.
    package let costOfLoss: String
    /// Creates its tables. The identifiers of its migrations identify a file of this kind.
    package let migrator: DatabaseMigrator
    /// A table that only databases of this kind have, in every format.
    let table: String
    /// Restores the references of a database that was rescued from a damaged one and lacks rows.
    let mend: @Sendable (Database) throws -> Void

    package init(
        name: String,
        costOfLoss: String,
        table: String,
        migrator: DatabaseMigrator,
        mend: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) {
        self.name = name
        self.costOfLoss = costOfLoss
        self.table = table
        self.migrator = migrator
        self.mend = mend
    }
}

/// A column stores a moment as an integer, in milliseconds since 1970.
extension Timestamp: DatabaseValueConvertible, StatementColumnConvertible {
    @inlinable public init(sqliteStatement: SQLiteStatement, index: CInt) {
        self.init(milliseconds: Int64(sqliteStatement: sqliteStatement, index: index))
    }

    @inlinable public var databaseValue: DatabaseValue { milliseconds.databaseValue }

    @inlinable public static func fromDatabaseValue(_ value: DatabaseValue) -> Timestamp? {
        Int64.fromDatabaseValue(value).map { Timestamp(milliseconds: $0) }
    }

    // GRDB's own implementation makes a `DatabaseValue` first.
    @inlinable public func bind(to sqliteStatement: SQLiteStatement, at index: CInt) -> CInt {
        milliseconds.bind(to: sqliteStatement, at: index)
    }
}
