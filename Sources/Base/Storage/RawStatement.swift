import CSQLiteTuning
import Core
import GRDB
import GRDBSQLite

/// The memory settings of SQLite.
enum SQLiteMemory {
    /// Turns off SQLite's memory statistics, which are not used. Set once, before the process opens its first database.
    static let isUncounted = carillon_sqlite_leave_memory_uncounted() == 0
}

/// A statement that GRDB prepares, caches and closes, but that is bound and stepped directly through SQLite. On the
/// path of every delivery, GRDB's values and rows would cost as much again as the statement.
package struct RawStatement {
    // Keeps the handle alive.
    private let statement: Statement
    private let handle: OpaquePointer
    private static let emptyText: StaticString = ""
    /// SQLITE_TRANSIENT, a macro that Swift cannot import.
    private static var copies: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    package init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
        reset()
    }

    package func reset() {
        // The result repeats the one of the last step, which was already checked.
        _ = sqlite3_reset(handle)
        _ = sqlite3_clear_bindings(handle)
    }

    /// Binds a number. Binds nothing if `value` is nil, because ``reset()`` left NULL there.
    package func bind(_ value: Int64?, at index: Int32) throws {
        if let value { try check(sqlite3_bind_int64(handle, index, value)) }
    }

    /// Binds a copy of `text`, or nothing if it is nil.
    package func bind(_ text: String?, at index: Int32) throws {
        guard var text else { return }
        try text.withUTF8 { try bind(text: $0, at: index, Self.copies) }
    }

    /// Binds a copy of `bytes`, or nothing if it is nil.
    package func bind(blob bytes: [UInt8]?, at index: Int32) throws {
        guard let bytes else { return }
        let result = bytes.withUnsafeBytes {
            sqlite3_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count), Self.copies)
        }
        try check(result)
    }

    /// Binds a copy of `bytes`.
    package func bind(copyOf bytes: UnsafeRawBufferPointer, at index: Int32) throws {
        let result = sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(clamping: bytes.count), Self.copies)
        try check(result)
    }

    /// Binds `text` while `body` runs, which must run the statement.
    package func bind(_ text: String, at index: Int32, while body: () throws -> Void) throws {
        var text = text
        try text.withUTF8 { bytes in
            try bind(text: bytes, at: index, nil)
            try body()
        }
    }

    /// Binds `bytes` as UTF-8. They must stay valid until ``reset()``.
    package func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws {
        try bind(text: bytes.assumingMemoryBound(to: UInt8.self), at: index, nil)
    }

    /// `bytes` must stay valid until ``reset()``, unless `memory` makes SQLite copy them.
    private func bind(
        text bytes: UnsafeBufferPointer<UInt8>,
        at index: Int32,
        _ memory: sqlite3_destructor_type?
    ) throws {
        // SQLite reads a null pointer as NULL, and any other pointer of length 0 as an empty string.
        let start = bytes.baseAddress ?? RawStatement.emptyText.utf8Start
        let text = UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
        try check(sqlite3_bind_text(handle, index, text, Int32(clamping: bytes.count), memory))
    }

    /// `bytes` must stay valid until ``reset()``.
    package func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws {
        try check(sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(clamping: bytes.count), nil))
    }

    /// Runs a statement without rows.
    package func run() throws {
        let result = sqlite3_step(handle)
        guard result == SQLITE_DONE else { throw failure(result) }
    }

    /// Moves to the next row. Returns false after the last.
    package func step() throws -> Bool {
        let result = sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        guard result == SQLITE_DONE else { throw failure(result) }
        return false
    }

    package func integer(at column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func timestamp(at column: Int32) -> Timestamp { Timestamp(milliseconds: integer(at: column)) }

    package func isNull(at column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// Returns the column's bytes, valid until the next step or ``reset()``.
    package func bytes(at column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    package func text(at column: Int32) -> String {
        String(decoding: bytes(at: column), as: UTF8.self)
    }

    private func check(_ result: Int32) throws {
        guard result == SQLITE_OK else { throw failure(result) }
    }

    private func failure(_ result: Int32) -> DatabaseError {
        let message = sqlite3_db_handle(handle).flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        return DatabaseError(resultCode: ResultCode(rawValue: result), message: message)
    }
}
