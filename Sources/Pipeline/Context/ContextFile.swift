import Foundation
import GRDB
import Logging
import Synchronization

/// The database file under a ``ContextStore``. Trouble with it is logged and otherwise looks like an empty cache.
final class ContextFile: Sendable {
    private let path: String
    /// Nil once closed, or when not even an empty file could be had.
    private let pool: Mutex<DatabasePool?>
    private let isInTrouble = Mutex(false)
    private let logger: Logger

    init(path: String, logger: Logger) throws(ContextStoreError) {
        self.path = path
        self.logger = logger
        self.pool = Mutex(try Self.open(path, logger: logger))
    }

    func read<Value>(_ body: (ContextRows) throws -> Value) -> Value? {
        attempt { pool in try pool.unsafeRead { try body(ContextRows(db: $0)) } }
    }

    func write(_ body: (ContextRows) throws -> Void) {
        _ = attempt { pool in try pool.write { try body(ContextRows(db: $0)) } }
    }

    func close() {
        let pool = pool.withLock { pool in
            defer { pool = nil }
            return pool
        }
        try? pool?.close()
    }

    private func attempt<Value>(_ body: (DatabasePool) throws -> Value) -> Value? {
        guard let pool = pool.withLock(\.self) else { return nil }
        do {
            let value = try body(pool)
            isInTrouble.withLock { $0 = false }
            return value
        } catch let error as DatabaseError where error.isDamage {
            replace(pool, error)
        } catch {
            let isNew = isInTrouble.withLock { isInTrouble in
                defer { isInTrouble = true }
                return !isInTrouble
            }
            if isNew { logger.warning("Names and notes cannot be kept", metadata: ["error": "\(error)"]) }
        }
        return nil
    }

    private func replace(_ damaged: DatabasePool, _ error: DatabaseError) {
        pool.withLock { pool in
            // Another thread may have found the damage first.
            guard pool === damaged else { return }
            try? damaged.close()
            Self.putAside(path, error, logger: logger)
            do throws(ContextStoreError) {
                pool = try Self.open(path, logger: logger)
            } catch {
                pool = nil
                logger.error("Names and notes are kept in memory only", metadata: ["error": "\(error)"])
            }
        }
    }

    private static func open(_ path: String, logger: Logger) throws(ContextStoreError) -> DatabasePool {
        do {
            do {
                if let pool = try openReady(path) { return pool }
                removeFiles(path)
            } catch let error as DatabaseError where error.isDamage {
                putAside(path, error, logger: logger)
            }
            if let pool = try openReady(path) { return pool }
            throw ContextStoreError.unusable("it is written by another version", path: path)
        } catch let error as ContextStoreError {
            throw error
        } catch {
            throw .unusable((error as? DatabaseError)?.message ?? "\(error)", path: path)
        }
    }

    /// Nil when another version wrote it.
    private static func openReady(_ path: String) throws -> DatabasePool? {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon context cache"
        configuration.maximumReaderCount = 1
        // A pool turns the file into a WAL database as soon as it is opened, which must not be done to a foreign one.
        switch try DatabaseQueue(path: path, configuration: configuration).read(ContextSchema.state) {
        case .foreign: throw ContextStoreError.foreign(path: path)
        case .outdated: return nil
        case .ready: return try DatabasePool(path: path, configuration: configuration)
        case .empty:
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.write(ContextSchema.create)
            return pool
        }
    }

    private static func putAside(_ path: String, _ error: DatabaseError, logger: Logger) {
        logger.warning(
            "What was kept of names and notes is damaged; it is put aside and begun anew",
            metadata: ["path": "\(path)", "error": "\(error.message ?? error.description)"]
        )
        try? FileManager.default.removeItem(atPath: path + ".damaged")
        try? FileManager.default.moveItem(atPath: path, toPath: path + ".damaged")
        removeFiles(path)
    }

    private static func removeFiles(_ path: String) {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
}

extension DatabaseError {
    /// Whether the file itself is at fault, so that trying again is of no use.
    fileprivate var isDamage: Bool {
        resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB
    }
}
