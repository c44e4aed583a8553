import Core
import GRDB
import Storage
import Testing

/// Timestamp columns hold milliseconds since 1970.
@Suite struct TimestampColumnTests {
    private static let moments: [Timestamp] = [
        .distantPast, Timestamp(milliseconds: -1), .epoch, Timestamp(seconds: 1_773_446_400), .distantFuture,
    ]

    @Test(arguments: moments)
    func aMomentIsAWholeNumberInItsColumn(_ moment: Timestamp) throws {
        try DatabaseQueue().write { database in
            try database.execute(sql: "CREATE TABLE moments (at INTEGER)")
            try database.execute(sql: "INSERT INTO moments VALUES (?)", arguments: [moment])
            #expect(try String.fetchOne(database, sql: "SELECT typeof(at) FROM moments") == "integer")
            #expect(try Int64.fetchOne(database, sql: "SELECT at FROM moments") == moment.milliseconds)
            #expect(
                try Timestamp.fetchOne(database, sql: "SELECT at FROM moments WHERE at = ?", arguments: [moment])
                    == moment
            )
            let row = try #require(try Row.fetchOne(database, sql: "SELECT at FROM moments"))
            #expect(row["at"] as Timestamp == moment && row[0] as Timestamp? == moment)
        }
    }

    @Test func nullIsNil() throws {
        try DatabaseQueue().read { database in
            let row = try #require(
                try Row.fetchOne(database, sql: "SELECT NULL AS at, ? AS given", arguments: [nil as Timestamp?])
            )
            #expect(row["at"] as Timestamp? == nil && row["given"] as Timestamp? == nil)
            #expect(try Timestamp.fetchOne(database, sql: "SELECT NULL") == nil)
        }
    }
}
