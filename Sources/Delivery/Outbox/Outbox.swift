import GRDB
import Notifications
import Storage
import Synchronization

/// The durable queue of deliveries, in SQLite: written before anything is sent, and deleted from on a final outcome.
///
/// Every insertion is flushed to disk (`synchronous = FULL` in WAL mode), so callers bring deliveries in groups. What becomes
/// of them is flushed with the next one: see ``apply(_:)``. It stores
/// notifications and numbers of devices, never a token or endpoint. One process may have it open at a time.
package final class Outbox: DeliveryStore {
    package static let kind = StoreKind(
        name: "the outbox",
        costOfLoss: "loses the pushes that wait in it, and lets events push again that come a second time",
        migrator: migrator
    )

    struct State {
        var nextSequence: Int64
        var queues: [QueueName: Int]
    }

    let writer: any DatabaseWriter
    let watch: DamageWatch
    let state: Mutex<State>
    let stored = Atomic<Int>(0)
    /// From how many deliveries on sources should stop.
    package let limit: Int
    let causeLimit: Int

    /// Opens the outbox inside a database that others may use too. All tables are named `outbox_…`.
    ///
    /// The writer's connection is set to `synchronous = FULL` for everybody, and read back: a pool sets it to NORMAL by
    /// itself when it opens. `limit` is the count of deliveries from which on sources should stop, `causeLimit` how many events
    /// are remembered at most.
    package convenience init(_ writer: any DatabaseWriter, limit: Int = 1_000_000, causeLimit: Int = 500_000) throws {
        let watch = DamageWatch(StoreFile(path: "in memory", kind: Self.kind)) { _ in }
        try self.init(writer, watch, limit: limit, causeLimit: causeLimit)
    }

    private init(_ writer: any DatabaseWriter, _ watch: DamageWatch, limit: Int, causeLimit: Int) throws {
        self.writer = writer
        self.watch = watch
        self.limit = limit
        self.causeLimit = causeLimit
        let (queues, waiting, count) = try watch.reading {
            try Outbox.makeDurable(writer)
            try Outbox.migrator.migrate(writer)
            return try writer.read { database in
                let queues = try Outbox.queues(database)
                return (queues, try Outbox.waiting(database, queues), try Outbox.count(database))
            }
        }
        let last = waiting.map(\.last.sequence).max() ?? 0
        state = Mutex(State(nextSequence: last + 1, queues: queues))
        stored.store(count, ordering: .relaxed)
    }

    /// Opens or creates the outbox in a file of its own, which only this user can read. `damaged` is told once when that turns out
    /// damaged later; nothing is written to it from then on. Throws a `StoreFault` for a file that cannot be used, and leaves it
    /// as it was.
    package convenience init(
        path: String,
        limit: Int = 1_000_000,
        damaged: @escaping @Sendable (StoreFault) -> Void = { _ in }
    ) throws {
        let file = StoreFile(path: path, kind: Self.kind)
        var configuration = Configuration()
        configuration.label = "outbox"
        configuration.maximumReaderCount = 1
        // An operator may look into the file, or copy it, while we run.
        configuration.busyMode = .timeout(10)
        let pool = try file.open(configuration)
        try self.init(pool, DamageWatch(file, report: damaged), limit: limit, causeLimit: 500_000)
    }

    /// The damage that was met since it was opened; nil while all is well.
    package var damage: StoreFault? { watch.damage }

    /// Copies the log into the file, so that the file alone is the whole outbox. For the end of an orderly stop; where the disk
    /// does not take it, the log stays and nothing is lost.
    package func settle() {
        _ = try? watch.writing { try writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    }

    package var count: Int { stored.load(ordering: .relaxed) }

    package var isFull: Bool { count >= limit }

    package func forEachWaiting(_ body: (QueueName, DeviceID) -> Void) throws {
        try watch.reading {
            try writer.read { database in
                let names = try Dictionary(Outbox.queues(database).map { (Int64($1), $0) }) { first, _ in first }
                let select = try RawStatement(database, "SELECT queue, device FROM outbox_delivery")
                defer { select.reset() }
                while try select.step() {
                    guard let name = names[select.integer(at: 0)] else { continue }
                    body(name, DeviceID(rawValue: select.integer(at: 1)))
                }
            }
        }
    }

    package func waitingQueues() throws -> [StoredQueue] {
        try watch.reading { try writer.read { try Outbox.waiting($0, Outbox.queues($0)) } }
    }
}
