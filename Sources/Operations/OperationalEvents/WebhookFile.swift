import Cipher
import Core
import Foundation
import GRDB
import Logging
import Storage

/// A file of webhook messages that survives a restart. Must be used by one thread at a time.
///
/// It holds the messages, which contain no secrets, and a digest of each endpoint's URL, which may contain one. If a
/// write fails, messages are still sent, but a restart loses them.
struct WebhookFile {
    private let path: String
    private let logger: Logger
    private var queue: DatabaseQueue?
    private var isInTrouble = false

    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    private var file: RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and the file's type.
            applicationID: 0x4372_6C04,
            version: 1,
            tables: """
                CREATE TABLE messages (
                    row INTEGER PRIMARY KEY,
                    endpoint BLOB NOT NULL,
                    id TEXT NOT NULL,
                    attempts INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    UNIQUE (endpoint, id)
                ) STRICT;
                """
        )
    }

    /// Returns the digest that names an endpoint in the file.
    static func name(of url: String) -> [UInt8] { SHA256.hash(Array(url.utf8)) }

    /// Returns an endpoint's queued messages in order of arrival. `moment` is `now` on the monotonic clock. Delays are
    /// capped to the schedule, even if the wall clock was changed.
    mutating func messages(for endpoint: [UInt8], at now: Timestamp, _ moment: Deadline) -> [WebhookQueue.Message] {
        guard file.exists else { return [] }
        return attempt { queue in
            try queue.read { db in
                let rows = try Row.fetchAll(
                    db,
                    sql: "SELECT id, attempts, due_at, body FROM messages WHERE endpoint = ? ORDER BY row",
                    arguments: [Data(endpoint)]
                )
                return rows.map { row in
                    let attempts = min(max(0, row["attempts"] as Int), WebhookQueue.pauses.count)
                    let longest = attempts == 0 ? .zero : WebhookQueue.pauses[attempts - 1]
                    let wait = (row["due_at"] as Timestamp) - now
                    return WebhookQueue.Message(
                        id: row["id"],
                        body: Array(row["body"] as Data),
                        attempts: attempts,
                        due: moment + min(max(.zero, wait), longest)
                    )
                }
            }
        } ?? []
    }

    /// Deletes the messages of endpoints that are no longer configured.
    mutating func keepOnly(_ endpoints: [[UInt8]]) {
        guard file.exists else { return }
        _ = attempt { queue in
            try queue.write { db in
                let places = endpoints.map { _ in "?" }.joined(separator: ", ")
                try db.execute(
                    sql: "DELETE FROM messages WHERE endpoint NOT IN (\(places))",
                    arguments: StatementArguments(endpoints.map { Data($0) })
                )
            }
        }
    }

    /// Writes changes of several endpoints in one transaction.
    mutating func write(
        _ changes: [(endpoint: [UInt8], changes: [WebhookQueue.Change])],
        at now: Timestamp,
        _ moment: Deadline
    ) {
        guard changes.contains(where: { !$0.changes.isEmpty }) else { return }
        _ = attempt { queue in
            try queue.write { db in
                for (endpoint, changes) in changes {
                    for change in changes {
                        switch change {
                        case .put(let message):
                            try db.execute(
                                sql: """
                                    INSERT INTO messages (endpoint, id, attempts, due_at, body) VALUES (?, ?, ?, ?, ?)
                                    ON CONFLICT DO UPDATE SET attempts = excluded.attempts, due_at = excluded.due_at
                                    """,
                                arguments: [
                                    Data(endpoint), message.id, message.attempts, now + (message.due - moment),
                                    Data(message.body),
                                ]
                            )
                        case .remove(let id):
                            try db.execute(
                                sql: "DELETE FROM messages WHERE endpoint = ? AND id = ?",
                                arguments: [Data(endpoint), id]
                            )
                        }
                    }
                }
            }
        }
    }

    mutating func close() {
        try? queue?.close()
        queue = nil
    }

    /// Returns `nil` if the disk access fails, which is logged once.
    private mutating func attempt<Value>(_ body: (DatabaseQueue) throws -> Value) -> Value? {
        do {
            let queue = try self.queue ?? open()
            self.queue = queue
            let value = try body(queue)
            isInTrouble = false
            return value
        } catch {
            if let error = error as? DatabaseError, error.isDamage {
                close()
                file.moveDamaged()
            }
            if !isInTrouble {
                logger.warning(
                    "Failed to store queued messages for operational_events endpoints",
                    metadata: ["path": "\(path)", "error": "\((error as? DatabaseError)?.message ?? "\(error)")"]
                )
            }
            isInTrouble = true
            return nil
        }
    }

    private func open() throws -> DatabaseQueue {
        file.touch()
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon webhooks"
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        switch try queue.read(file.state) {
        case .ready: break
        case .empty: try queue.write(file.makeTables)
        case .foreign: throw StoreFileIsForeign()
        case .outdated:
            try queue.close()
            file.remove()
            return try open()
        }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        }
        return queue
    }

    private struct StoreFileIsForeign: Error, CustomStringConvertible {
        let description = "it is another program's database: move it elsewhere"
    }
}
