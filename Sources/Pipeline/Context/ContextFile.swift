import GRDB
import Logging
import Storage
import Synchronization

/// The database file under a ``ContextStore``. Trouble with it is logged and otherwise looks like an empty cache.
final class ContextFile: Sendable {
    private let file: RenewableFile
    /// Nil once closed, or when not even an empty file could be had.
    private let pool: Mutex<DatabasePool?>
    private let isInTrouble = Mutex(false)
    private let logger: Logger

    init(path: String, logger: Logger) throws(ContextStoreError) {
        let file = ContextSchema.file(at: path)
        self.file = file
        self.logger = logger
        self.pool = Mutex(try Self.open(file, logger: logger))
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
            Self.putAside(file, error, logger: logger)
            do throws(ContextStoreError) {
                pool = try Self.open(file, logger: logger)
            } catch {
                pool = nil
                logger.error("Names and notes are kept in memory only", metadata: ["error": "\(error)"])
            }
        }
    }

    private static func open(_ file: RenewableFile, logger: Logger) throws(ContextStoreError) -> DatabasePool {
        do {
            do {
                if let pool = try openReady(file) { return pool }
                file.remove()
            } catch let error as DatabaseError where error.isDamage {
                putAside(file, error, logger: logger)
            }
            if let pool = try openReady(file) { return pool }
            throw ContextStoreError.unusable("it is written by another version", path: file.path)
        } catch let error as ContextStoreError {
            throw error
        } catch {
            throw .unusable((error as? DatabaseError)?.message ?? "\(error)", path: file.path)
        }
    }

    /// Nil when another version wrote it.
    private static func openReady(_ file: RenewableFile) throws -> DatabasePool? {
        file.touch()
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon context cache"
        configuration.maximumReaderCount = 1
        // A pool turns the file into a WAL database as soon as it is opened, which must not be done to a foreign one.
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

    private static func putAside(_ file: RenewableFile, _ error: DatabaseError, logger: Logger) {
        logger.warning(
            "What was kept of names and notes is damaged; it is put aside and begun anew",
            metadata: ["path": "\(file.path)", "error": "\(error.message ?? error.description)"]
        )
        file.putAside()
    }
}
