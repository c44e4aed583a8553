public import GRDB
public import Units

/// A column holds a moment as a whole number, in milliseconds since 1970.
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
