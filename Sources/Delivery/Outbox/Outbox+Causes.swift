import GRDB
import Storage

/// The events that deliveries were for, and those that were to wake nobody. They are remembered beyond the deliveries' end: an event that comes again after a
/// restart must not push again.
extension Outbox {
    /// Calls `body` with the id of each event remembered, the oldest first.
    package func forEachCause(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try watch.reading {
            try writer.read { database in
                let select = try RawStatement(database, "SELECT id FROM outbox_cause ORDER BY number")
                defer { select.reset() }
                while try select.step() { try body(select.bytes(at: 0)) }
            }
        }
    }

    /// Rows only come at one end and go at the other, so this costs little however many there are.
    static func remember(_ causes: [[UInt8]], atMost limit: Int, _ database: Database) throws {
        guard !causes.isEmpty else { return }
        let insert = try RawStatement(database, "INSERT INTO outbox_cause (id) VALUES (?)")
        defer { insert.reset() }
        for cause in causes {
            try cause.withUnsafeBytes { cause in
                try insert.bind(blob: cause, at: 1)
                try insert.run()
                insert.reset()
            }
        }
        let forget = try RawStatement(database, "DELETE FROM outbox_cause WHERE number <= ?")
        defer { forget.reset() }
        try forget.bind(database.lastInsertedRowID - Int64(limit), at: 1)
        try forget.run()
    }
}
