import GRDB
import GRDBSQLite
import Units

/// A statement that GRDB prepared, caches and closes, and that is bound and stepped through SQLite itself: on the path
/// of every delivery GRDB's own values and rows cost as much again as the statement.
struct RawStatement {
    // Keeps the handle alive.
    private let statement: Statement
    private static let emptyText: StaticString = ""
    private var handle: OpaquePointer { statement.sqliteStatement }

    init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
        reset()
    }

    func reset() {
        // The result repeats the one of the last step, which was looked at already.
        _ = sqlite3_reset(handle)
        _ = sqlite3_clear_bindings(handle)
    }

    func bind(_ value: Int64, at index: Int32) throws {
        try check(sqlite3_bind_int64(handle, index, value))
    }

    /// Binds `text` while `body` runs, which is to run the statement.
    func bind(_ text: String, at index: Int32, while body: () throws -> Void) throws {
        var text = text
        try text.withUTF8 { bytes in
            try bind(text: bytes, at: index)
            try body()
        }
    }

    /// `bytes` must stay where they are until ``reset()``.
    private func bind(text bytes: UnsafeBufferPointer<UInt8>, at index: Int32) throws {
        // SQLite takes a null pointer for NULL; any other pointer of length 0 is an empty text.
        let start = bytes.baseAddress ?? RawStatement.emptyText.utf8Start
        let text = UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
        try check(sqlite3_bind_text(handle, index, text, Int32(clamping: bytes.count), nil))
    }

    /// `bytes` must stay where they are until ``reset()``.
    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws {
        try check(sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(clamping: bytes.count), nil))
    }

    /// Runs a statement without rows.
    func run() throws {
        let result = sqlite3_step(handle)
        guard result == SQLITE_DONE else { throw failure(result) }
    }

    /// Moves to the next row; false after the last.
    func step() throws -> Bool {
        let result = sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        guard result == SQLITE_DONE else { throw failure(result) }
        return false
    }

    func integer(at column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func timestamp(at column: Int32) -> Timestamp { Timestamp(milliseconds: integer(at: column)) }

    func isNull(at column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The column's bytes, until the next step or ``reset()``.
    func bytes(at column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    func text(at column: Int32) -> String {
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
