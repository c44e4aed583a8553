import GRDB
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The durable queue of deliveries, in SQLite: written before anything is sent, and deleted from on a final outcome.
///
/// Every insertion is flushed to disk (`synchronous = FULL` in WAL mode), so callers bring deliveries in groups. What becomes
/// of them is flushed with the next one: see ``apply(_:)``. It stores
/// notifications and numbers of devices, never a token or endpoint. One process may have it open at a time.
package final class Outbox: DeliveryStore {
    struct State {
        var nextSequence: Int64
        var queues: [QueueName: Int]
    }

    let writer: any DatabaseWriter
    let state: Mutex<State>
    let stored = Atomic<Int>(0)
    private let limit: Int
    let causeLimit: Int

    /// Opens the outbox inside a database that others may use too. All tables are named `outbox_…`.
    ///
    /// The writer's connection is set to `synchronous = FULL` for everybody, and read back: a pool sets it to NORMAL by
    /// itself when it opens. `limit` is the count of deliveries from which on sources should stop, `causeLimit` how many events
    /// are remembered at most.
    package init(_ writer: any DatabaseWriter, limit: Int = 1_000_000, causeLimit: Int = 500_000) throws {
        self.writer = writer
        self.limit = limit
        self.causeLimit = causeLimit
        try Outbox.makeDurable(writer)
        try Outbox.migrator.migrate(writer)
        let (queues, waiting, count) = try writer.read { database in
            let queues = try Outbox.queues(database)
            return (queues, try Outbox.waiting(database, queues), try Outbox.count(database))
        }
        let last = waiting.map(\.last.sequence).max() ?? 0
        state = Mutex(State(nextSequence: last + 1, queues: queues))
        stored.store(count, ordering: .relaxed)
    }

    /// Opens or creates the outbox in a file of its own, which only this user can read.
    package convenience init(path: String, limit: Int = 1_000_000) throws {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw OutboxError.cannotCreateFile(errno: errno) }
        close(file)
        var configuration = Configuration()
        configuration.label = "outbox"
        configuration.maximumReaderCount = 1
        // An operator may look into the file, or copy it, while we run.
        configuration.busyMode = .timeout(10)
        try self.init(DatabasePool(path: path, configuration: configuration), limit: limit)
    }

    package var count: Int { stored.load(ordering: .relaxed) }

    package var isFull: Bool { count >= limit }

    package func waitingQueues() throws -> [StoredQueue] {
        try writer.read { try Outbox.waiting($0, Outbox.queues($0)) }
    }
}
