import GRDB

/// When commits reach the disk. SQLite takes these settings between transactions only.
extension Outbox {
    /// How many pages of 4 KiB the WAL may grow to before a commit has to copy them back, which takes several flushes.
    private static let pagesBetweenCheckpoints = 8000

    static func makeDurable(_ writer: any DatabaseWriter) throws {
        try writer.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(pagesBetweenCheckpoints)")
            try flushEveryCommit(database)
        }
    }

    /// From here on what is committed survives a power cut. Read back, because a setting that failed says nothing.
    static func flushEveryCommit(_ database: Database) throws {
        try database.cachedStatement(sql: "PRAGMA synchronous = FULL").execute()
        let level = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA synchronous")) ?? -1
        guard level >= 2 else { throw OutboxError.notDurable(synchronous: level) }
    }

    /// From here on what is committed survives the process, and a power cut once anything later is flushed.
    static func flushCheckpointsOnly(_ database: Database) throws {
        try database.cachedStatement(sql: "PRAGMA synchronous = NORMAL").execute()
    }
}
