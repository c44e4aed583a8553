import Foundation
import GRDB
import Nostr
import Storage
import Units

/// Reads and writes the rows of a ``ContextStore``. Texts are blobs, since they may hold NUL, where SQLite's end.
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

    /// What has keys.
    enum KeyTable {
        case profiles
        case notes
    }

    /// The keys of `table` that come after `last`, in order, `limit` at most.
    func keys(of table: KeyTable, after last: Bytes32?, limit: Int) throws -> [Bytes32] {
        // Only the index is read, not the texts.
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

    /// Forgets what is beyond `limits`, the oldest first.
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
