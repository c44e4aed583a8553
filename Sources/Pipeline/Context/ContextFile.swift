import Core
import Foundation
import GRDB
import Logging
import Nostr
import Storage
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The database file of a ``ContextStore``. Errors are logged; the cache then looks empty.
final class ContextFile: Sendable {
    private enum State {
        /// There is no file; the first write creates it.
        case absent
        case open(DatabasePool)
        /// Closed, or no file could be created.
        case unusable
    }

    private let file: RenewableFile
    private let state: Mutex<State>
    private let isInTrouble = Mutex(false)
    private let logger: Logger

    init(path: String, logger: Logger) throws(ContextStoreError) {
        let file = ContextSchema.file(at: path)
        self.file = file
        self.logger = logger
        guard file.exists else {
            try Self.expectFolder(of: path)
            state = Mutex(.absent)
            return
        }
        state = Mutex(.open(try Self.open(file, logger: logger)))
    }

    /// Whether there is no file yet.
    var isAbsent: Bool {
        if case .absent = state.withLock(\.self) { true } else { false }
    }

    func read<Value>(_ body: (ContextRows) throws -> Value) -> Value? {
        guard case .open(let pool) = state.withLock(\.self) else { return nil }
        return attempt(pool) { try $0.unsafeRead { try body(ContextRows(db: $0)) } }
    }

    func write(_ body: (ContextRows) throws -> Void) {
        guard let pool = openPool() else { return }
        _ = attempt(pool) { try $0.write { try body(ContextRows(db: $0)) } }
    }

    /// Removes the file, and a damaged earlier one.
    func erase() {
        state.withLock { state in
            if case .open(let pool) = state { try? pool.close() }
            if case .unusable = state {} else { state = .absent }
            file.remove()
            file.removeDamaged()
        }
    }

    func close() {
        let state = state.withLock { state in
            defer { state = .unusable }
            return state
        }
        if case .open(let pool) = state { try? pool.close() }
    }

    private func openPool() -> DatabasePool? {
        state.withLock { state in
            switch state {
            case .open(let pool): return pool
            case .unusable: return nil
            case .absent:
                do throws(ContextStoreError) {
                    let pool = try Self.open(file, logger: logger)
                    state = .open(pool)
                    return pool
                } catch {
                    warn(error)
                    return nil
                }
            }
        }
    }

    private func attempt<Value>(_ pool: DatabasePool, _ body: (DatabasePool) throws -> Value) -> Value? {
        do {
            let value = try body(pool)
            isInTrouble.withLock { $0 = false }
            return value
        } catch let error as DatabaseError where error.isDamage {
            replace(pool, error)
        } catch {
            warn(error)
        }
        return nil
    }

    private func warn(_ error: any Error) {
        let isNew = isInTrouble.withLock { isInTrouble in
            defer { isInTrouble = true }
            return !isInTrouble
        }
        if isNew { logger.warning("Failed to store names and notes", metadata: ["error": "\(error)"]) }
    }

    private func replace(_ damaged: DatabasePool, _ error: DatabaseError) {
        state.withLock { state in
            // Another thread may have found the damage first.
            guard case .open(let pool) = state, pool === damaged else { return }
            try? damaged.close()
            Self.quarantine(file, error, logger: logger)
            do throws(ContextStoreError) {
                state = .open(try Self.open(file, logger: logger))
            } catch {
                state = .unusable
                logger.error("Storing names and notes in memory only", metadata: ["error": "\(error)"])
            }
        }
    }

    private static func expectFolder(of path: String) throws(ContextStoreError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard access(folder, W_OK | X_OK) == 0 else {
            throw .unusable(String(cString: strerror(errno)), path: path)
        }
    }

    private static func open(_ file: RenewableFile, logger: Logger) throws(ContextStoreError) -> DatabasePool {
        do {
            do {
                if let pool = try openReady(file) { return pool }
                file.remove()
            } catch let error as DatabaseError where error.isDamage {
                quarantine(file, error, logger: logger)
            }
            if let pool = try openReady(file) { return pool }
            throw ContextStoreError.unusable("another version wrote it", path: file.path)
        } catch let error as ContextStoreError {
            throw error
        } catch {
            throw .unusable((error as? DatabaseError)?.message ?? "\(error)", path: file.path)
        }
    }

    /// Opens a file of this version, or creates it. Returns nil if another version wrote it.
    private static func openReady(_ file: RenewableFile) throws -> DatabasePool? {
        file.touch()
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon context cache"
        configuration.maximumReaderCount = 1
        // Forgotten rows must not stay in the file.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        // A pool turns the file into a WAL database as soon as it is opened. This must not happen to a foreign one.
        switch try DatabaseQueue(path: file.path, configuration: configuration).read(file.state) {
        case .foreign: throw ContextStoreError.foreign(path: file.path)
        case .outdated: return nil
        case .ready: return try DatabasePool(path: file.path, configuration: configuration)
        case .empty:
            let pool = try DatabasePool(path: file.path, configuration: configuration)
            try pool.write(file.makeTables)
            return pool
        }
    }

    private static func quarantine(_ file: RenewableFile, _ error: DatabaseError, logger: Logger) {
        logger.warning(
            "The file of names and notes is damaged; it was renamed and a new one created",
            metadata: ["path": "\(file.path)", "error": "\(error.message ?? error.description)"]
        )
        file.moveDamaged()
    }
}

/// The tables of a ``ContextStore``. Row ids grow with time, because a replaced row gets a new one, so the oldest rows
/// are found without an index.
enum ContextSchema {
    static func file(at path: String) -> RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and the kind of file.
            applicationID: 0x4372_6C01,
            version: 1,
            tables: """
                CREATE TABLE profiles (
                    row INTEGER PRIMARY KEY,
                    author BLOB NOT NULL UNIQUE,
                    name BLOB,
                    created_at INTEGER NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                CREATE TABLE notes (
                    row INTEGER PRIMARY KEY,
                    id BLOB NOT NULL UNIQUE,
                    author BLOB NOT NULL,
                    root BLOB,
                    kind INTEGER NOT NULL,
                    content BLOB NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                """
        )
    }
}

/// Reads and writes the rows of a ``ContextStore``. Texts are blobs because they may contain NUL, which ends a SQLite
/// text.
struct ContextRows {
    let db: Database

    func profile(of author: PublicKey) throws -> ContextProfile? {
        let sql = "SELECT name, created_at, learned_at FROM profiles WHERE author = ?"
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [Data(author.array)]).map { row in
            ContextProfile(
                name: (row[0] as Data?).map { String(decoding: $0, as: UTF8.self) },
                createdAt: row[1],
                learnedAt: row[2]
            )
        }
    }

    func note(_ id: EventID) throws -> ContextNote? {
        let sql = "SELECT author, root, kind, content FROM notes WHERE id = ?"
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [Data(id.array)]).flatMap { row in
            guard let author = PublicKey(bytes: row[0] as Data), let kind = UInt16(exactly: row[2] as Int64) else {
                return nil
            }
            return ContextNote(
                author: author,
                root: (row[1] as Data?).flatMap { PublicKey(bytes: $0) },
                kind: Kind(kind),
                content: String(decoding: row[3] as Data, as: UTF8.self)
            )
        }
    }

    /// The tables that have keys.
    enum KeyTable {
        case profiles
        case notes
    }

    /// Returns up to `limit` keys of `table` after `last`, in order.
    func keys(of table: KeyTable, after last: Bytes32?, limit: Int) throws -> [Bytes32] {
        // Reads only the index, not the texts.
        let sql =
            switch table {
            case .profiles:
                "SELECT author FROM profiles WHERE author > ? AND length(author) = 32 ORDER BY author LIMIT ?"
            case .notes: "SELECT id FROM notes WHERE id > ? AND length(id) = 32 ORDER BY id LIMIT ?"
            }
        let arguments: StatementArguments = [Data(last?.array ?? []), limit]
        return try Data.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).compactMap { Bytes32(bytes: $0) }
    }

    func write(_ profile: ContextProfile, of author: PublicKey) throws {
        let sql = "INSERT OR REPLACE INTO profiles (author, name, created_at, learned_at) VALUES (?, ?, ?, ?)"
        try db.cachedStatement(sql: sql).execute(arguments: [
            Data(author.array), profile.name.map { Data($0.utf8) }, profile.createdAt, profile.learnedAt,
        ])
    }

    func write(_ note: ContextNote, _ id: EventID, at now: Timestamp) throws {
        let sql =
            "INSERT OR REPLACE INTO notes (id, author, root, kind, content, learned_at) VALUES (?, ?, ?, ?, ?, ?)"
        try db.cachedStatement(sql: sql).execute(arguments: [
            Data(id.array), Data(note.author.array), note.root.map { Data($0.array) }, note.kind.rawValue,
            Data((note.content ?? "").utf8), now,
        ])
    }

    func remove(notes: Set<EventID>, profiles: Set<PublicKey>, notesBy authors: Set<PublicKey>) throws {
        for id in notes {
            try db.cachedStatement(sql: "DELETE FROM notes WHERE id = ?").execute(arguments: [Data(id.array)])
        }
        for author in profiles {
            try db.cachedStatement(sql: "DELETE FROM profiles WHERE author = ?").execute(arguments: [Data(author.array)]
            )
        }
        for author in authors {
            try db.cachedStatement(sql: "DELETE FROM notes WHERE author = ?").execute(arguments: [Data(author.array)])
        }
    }

    /// Removes rows beyond `limits`, the oldest first.
    func prune(_ limits: ContextStore.Limits, at now: Timestamp) throws {
        for (table, limit) in [("profiles", limits.profiles), ("notes", limits.notes)] {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE row <= (SELECT max(row) FROM \(table)) - ?",
                arguments: [limit]
            )
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE row < coalesce(
                        (SELECT row FROM \(table) WHERE learned_at >= ? ORDER BY row LIMIT 1),
                        (SELECT max(row) + 1 FROM \(table)))
                    """,
                arguments: [now - limits.age]
            )
        }
    }
}
