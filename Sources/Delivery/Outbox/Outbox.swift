import Core
import GRDB
import Push
import Storage
import Synchronization

/// The durable queue of deliveries in SQLite. Deliveries are written before any attempt, and deleted at a final
/// outcome.
///
/// Every insertion is flushed to disk (`synchronous = FULL` in WAL mode), so callers should pass many deliveries at a
/// time. Outcomes are flushed with the next insertion: see ``apply(_:)``. It stores notifications and device numbers,
/// but no tokens or endpoints. Only one process may have it open at a time.
package final class Outbox: DeliveryStore {
    package var outbox: Outbox { self }

    package static let kind = StoreKind(
        name: "the outbox",
        costOfLoss: "loses the pushes that wait in it, and lets events push again that come a second time",
        table: "outbox_delivery",
        migrator: OutboxSchema.migrator
    )

    private struct State {
        var nextSequence: Int64
        var queues: [QueueName: Int]
    }

    private let writer: any DatabaseWriter
    private let watch: CorruptionGuard
    private let state: Mutex<State>
    private let stored = Atomic<Int>(0)
    /// Only used within the writer's connection.
    private let shared: Mutex<SharedNotificationUse>
    /// The number of deliveries from which on sources should stop.
    package let limit: Int
    private let causeLimit: Int
    private let deadLetters: DeadLetterLimits

    /// Opens the outbox in a database that others may use too. All tables are named `outbox_…`.
    ///
    /// Sets the writer's connection to `synchronous = FULL` for all users, and checks this, because a pool sets it to
    /// NORMAL when it opens. Sources should stop at `limit` deliveries. Up to `causeLimit` events are remembered.
    package convenience init(
        _ writer: any DatabaseWriter,
        limit: Int = 1_000_000,
        causeLimit: Int = 500_000,
        deadLetters: DeadLetterLimits = DeadLetterLimits()
    ) throws {
        let watch = CorruptionGuard(StoreFile(path: "in memory", kind: Self.kind)) { _ in }
        try self.init(writer, watch, limit: limit, causeLimit: causeLimit, deadLetters: deadLetters)
    }

    private init(
        _ writer: any DatabaseWriter,
        _ watch: CorruptionGuard,
        limit: Int,
        causeLimit: Int,
        deadLetters: DeadLetterLimits
    ) throws {
        self.writer = writer
        self.watch = watch
        self.limit = limit
        self.causeLimit = causeLimit
        self.deadLetters = deadLetters
        let (queues, waiting, count, isSharing) = try watch.reading {
            try Durability.prepare(writer)
            try OutboxSchema.migrator.migrate(writer)
            let isSharing = try writer.write { try SharedNotificationRows.prune($0) }
            return try writer.read { database in
                let queues = try OutboxRows.queues(database)
                return (queues, try OutboxRows.waiting(database, queues), try OutboxRows.count(database), isSharing)
            }
        }
        let last = waiting.map(\.last.sequence).max() ?? 0
        var shared = SharedNotificationUse()
        if isSharing { shared.add(0...last, count: count) }
        self.shared = Mutex(shared)
        state = Mutex(State(nextSequence: last + 1, queues: queues))
        stored.store(count, ordering: .relaxed)
    }

    /// Opens or creates the outbox in a separate file, which only this user can read. Calls `damaged` once if damage is
    /// found later; the file is no longer written after that. Throws a `StoreError` for an unusable file, and leaves it
    /// unchanged.
    package convenience init(
        path: String,
        limit: Int = 1_000_000,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        damaged: @escaping @Sendable (StoreError) -> Void = { _ in }
    ) throws {
        let file = StoreFile(path: path, kind: Self.kind)
        var configuration = Configuration()
        configuration.label = "outbox"
        configuration.maximumReaderCount = 1
        // An operator may read or copy the file while the router runs.
        configuration.busyMode = .timeout(10)
        let pool = try file.open(configuration)
        let watch = CorruptionGuard(file, report: damaged)
        try self.init(pool, watch, limit: limit, causeLimit: 500_000, deadLetters: deadLetters)
    }

    /// Whether the outbox at `path`, if there is one, contains data from a router with a registry: deliveries, held
    /// groups or accepted events. Throws a `StoreError` if this is unknown. Changes nothing.
    package static func isFilled(at path: String) throws -> Bool {
        let file = StoreFile(path: path, kind: kind)
        guard try file.exists() else { return false }
        return try file.reading { database in
            try ["outbox_delivery", "outbox_held", "outbox_cause"].contains { table in
                guard try database.tableExists(table) else { return false }
                return try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM \(table))") ?? false
            }
        }
    }

    /// The damage found since the outbox was opened; nil if there is none.
    package var damage: StoreError? { watch.damage }

    package var count: Int { stored.load(ordering: .relaxed) }

    package var isFull: Bool { count >= limit }

    /// Copies the log into the file, so that the file contains the whole outbox. Called at an orderly shutdown. If it
    /// fails, the log stays and no data is lost.
    package func settle() {
        _ = try? watch.writing { try writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    }

    package func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws {
        guard !deliveries.isEmpty || !causes.isEmpty || !pace.isEmpty else { return }
        let notifications = InsertedNotifications(of: deliveries)
        _ = try insert(notifications, handOver: handOver) { [causeLimit] database in
            try OutboxRows.remember(causes, atMost: causeLimit, database)
            try PaceStatements.apply(pace, database)
            return deliveries
        }
    }

    /// Inserts the result of `deliveries`, which is called in the transaction. `notifications` are theirs, if known in
    /// advance. Returns the number of deliveries.
    private func insert(
        _ notifications: InsertedNotifications? = nil,
        handOver: ([StoredDelivery]) -> Void,
        _ deliveries: (Database) throws -> [Delivery]
    ) throws -> Int {
        try state.withLock { state in
            var next = state
            var inserted: [StoredDelivery] = []
            try watch.writing {
                try writer.writeWithoutTransaction { database in
                    try Durability.flushEveryCommit(database)
                    var isSharing = false
                    try database.inTransaction(.immediate) {
                        let deliveries = try deliveries(database)
                        let first = next.nextSequence
                        let keys = try OutboxRows.keys(of: deliveries, from: first, in: &next.queues, database)
                        next.nextSequence += Int64(deliveries.count)
                        let notifications = notifications ?? InsertedNotifications(of: deliveries)
                        try OutboxRows.insert(deliveries, notifications, keys, database)
                        isSharing = !notifications.shared.isEmpty
                        inserted = keys.indices.map { StoredDelivery(key: keys[$0], delivery: deliveries[$0]) }
                        return .commit
                    }
                    if isSharing {
                        let sequences = state.nextSequence...(next.nextSequence - 1)
                        shared.withLock { $0.add(sequences, count: inserted.count) }
                    }
                }
            }
            state = next
            stored.add(inserted.count, ordering: .relaxed)
            if !inserted.isEmpty { handOver(inserted) }
            return inserted.count
        }
    }

    package func apply(_ changes: OutboxChanges) throws {
        guard !changes.isEmpty else { return }
        let most = deadLetters.isOn ? deadLetters.rows : 0
        let removed = try writeUnflushed { database in
            try OutboxRows.apply(changes, deadLetters: most, database)
            let ranges = shared.withLock { $0.ranges(of: changes.removals) }
            let removed = try OutboxRows.remove(ranges, database)
            if !removed.ends.isEmpty {
                try SharedNotificationRows.delete(shared.withLock { $0.unneeded(after: removed.ends) }, database)
            }
            return removed
        } committed: { removed in
            if !removed.ends.isEmpty { shared.withLock { $0.apply(removed.ends) } }
        }
        stored.subtract(removed.count, ordering: .relaxed)
    }

    /// Writes in one transaction, which a power failure may undo. Calls `committed` before any other write.
    func writeUnflushed<Value>(
        _ body: (Database) throws -> Value,
        committed: (Value) -> Void = { _ in }
    ) throws -> Value {
        try watch.writing {
            try writer.writeWithoutTransaction { database in
                try Durability.flushingCheckpointsOnly(database) {
                    var value: Value?
                    try database.inTransaction(.immediate) {
                        value = try body(database)
                        return .commit
                    }
                    guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
                    committed(value)
                    return value
                }
            }
        }
    }

    /// Reads the latest state, with the writer's connection.
    func readLatest<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try watch.reading { try writer.writeWithoutTransaction(body) }
    }

    package func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage {
        try page(of: queue) { name, database in
            try OutboxRows.firstTries(of: queue, name, after: after, limit: limit, database)
        }
    }

    package func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage {
        try page(of: queue) { name, database in
            try OutboxRows.retries(of: queue, name, from: place, limit: limit, database)
        }
    }

    private func page(of queue: Int, _ read: (QueueName, Database) throws -> OutboxPage) throws -> OutboxPage {
        let name = state.withLock { state in state.queues.first { $0.value == queue }?.key }
        guard let name else { return OutboxPage(isLast: true) }
        return try watch.reading { try writer.read { try read(name, $0) } }
    }

    package func waitingQueues() throws -> [StoredQueue] {
        try watch.reading { try writer.read { try OutboxRows.waiting($0, OutboxRows.queues($0)) } }
    }

    package func forEachWaiting(_ body: (QueueName, DeviceID) -> Void) throws {
        try watch.reading { try writer.read { try OutboxRows.forEachWaiting($0, body) } }
    }

    /// Calls `body` with the id of each remembered event, the oldest first.
    package func forEachCause(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try watch.reading { try writer.read { try OutboxRows.forEachCause($0, body) } }
    }
}

/// Deliveries that failed permanently, and the operations on them.
extension Outbox {
    package var deadLetterCount: Int {
        (try? watch.reading { try writer.read { try DeadLetterRows.count($0) } }) ?? 0
    }

    package func present(_ keys: [OutboxKey]) throws -> Set<OutboxKey> {
        // Uses the writer's connection, because a reader may see an older state.
        try watch.reading { try writer.writeWithoutTransaction { try OutboxRows.present(keys, $0) } }
    }

    package func requeue(
        _ letters: [DeadLetterNumber],
        at now: Timestamp,
        handOver: ([StoredDelivery]) -> Void
    ) throws -> Int {
        try insert(handOver: handOver) { database in
            let deliveries = try DeadLetterRows.deliveries(letters, at: now, database)
            _ = try DeadLetterRows.remove(letters, database)
            return deliveries
        }
    }

    /// Returns the existing and readable ones of `letters`, as deliveries accepted at `now`.
    package func deadLetters(_ letters: [DeadLetterNumber], at now: Timestamp) throws -> [Delivery] {
        try readLatest { try DeadLetterRows.deliveries(letters, at: now, $0) }
    }

    /// Returns the ids of the existing ones of `letters`.
    package func deadLetterIDs(_ letters: [DeadLetterNumber]) throws -> [DeliveryID] {
        try readLatest { try DeadLetterRows.ids(letters, $0) }
    }

    package func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int {
        guard !letters.isEmpty else { return 0 }
        return try watch.writing { try writer.write { try DeadLetterRows.remove(letters, $0) } }
    }

    package func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws {
        let devices = try watch.reading { try writer.read { try DeadLetterRows.devices($0) } }
        guard !devices.isEmpty else { return }
        let left = try devices.filter { try !isRegistered($0) }
        let oldest = deadLetters.isOn ? now - .days(deadLetters.days) : .distantFuture
        try watch.writing {
            try writer.write { database in
                try DeadLetterRows.prune(before: oldest, database)
                try DeadLetterRows.forget(left, database)
            }
        }
    }

    package func awaitHandOver() { state.withLock { _ in } }
}

/// Devices' paces, stored with the deliveries: a released group becomes a delivery in the same transaction. Changes are
/// written by ``insert(_:causes:pace:handOver:)``.
extension Outbox {
    /// Calls `pace` with each device's row, then `member` with each readable held event, and then `held` with each
    /// group. Call this once, before any delivery is accepted or attempted: a delivery that was in progress and is no
    /// longer in the outbox counts as delivered. Deletes rows without effect at `now`.
    package func loadPaces(
        at now: Timestamp,
        pace: (PaceRow) -> Void,
        member: (HeldMember) -> Void,
        held: (HeldRow) -> Void
    ) throws {
        try watch.writing {
            try writer.write { database in
                try PaceStatements.settle(database, at: now)
                try PaceStatements.readPaces(database, pace)
                try PaceStatements.readMembers(database, member)
                try PaceStatements.readHeld(database, held)
            }
        }
    }

    /// Returns the stored withdrawals, the oldest first.
    package func withdrawals() throws -> [Withdrawal] { try readLatest { try WithdrawalRows.all($0) } }

    /// Calls `body` with the authors of events whose notifications are stored.
    package func forEachAuthor(_ body: (SIMD4<UInt64>) -> Void) throws {
        try readLatest { try WithdrawalRows.forEachAuthor($0, body) }
    }

    /// Returns the notification of a held event; nil if there is none, or it cannot be read.
    package func heldNotification(_ key: HeldMemberKey) throws -> HeldNotification? {
        // Uses the writer's connection, because a reader may see an older state.
        try watch.reading { try writer.writeWithoutTransaction { try PaceStatements.notification($0, of: key) } }
    }
}

/// When commits reach the disk. SQLite only allows changes of these settings between transactions.
private enum Durability {
    /// The size in 4 KiB pages to which the WAL may grow before a commit must copy it back, which takes several
    /// flushes.
    private static let pagesBetweenCheckpoints = 8000

    static func prepare(_ writer: any DatabaseWriter) throws {
        try writer.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(pagesBetweenCheckpoints)")
            try flushEveryCommit(database)
        }
    }

    /// Makes later commits survive a power failure. The setting is read back, because SQLite does not report if it
    /// fails.
    static func flushEveryCommit(_ database: Database) throws {
        guard try level(database) < 2 else { return }
        try database.execute(sql: "PRAGMA synchronous = FULL")
        let level = try level(database)
        guard level >= 2 else { throw OutboxError.notDurable(synchronous: level) }
    }

    /// Runs `body`. Its commits survive a crash of the process, and a power failure after the next flush.
    static func flushingCheckpointsOnly<Value>(_ database: Database, _ body: () throws -> Value) throws -> Value {
        try run("PRAGMA synchronous = NORMAL", database)
        let value = Result { try body() }
        // The next insertion checks whether this worked.
        try run("PRAGMA synchronous = FULL", database)
        return try value.get()
    }

    private static func level(_ database: Database) throws -> Int {
        let read = try RawStatement(database, "PRAGMA synchronous")
        defer { read.reset() }
        return try read.step() ? Int(read.integer(at: 0)) : -1
    }

    private static func run(_ sql: String, _ database: Database) throws {
        let statement = try RawStatement(database, sql)
        defer { statement.reset() }
        try statement.run()
    }
}

/// The error of an operation on the outbox. Descriptions contain no content of deliveries.
package enum OutboxError: Error, Equatable, CustomStringConvertible {
    case notDurable(synchronous: Int)
    case tooManyQueues

    package var description: String {
        switch self {
        case .notDurable(let level):
            """
            the outbox database runs with PRAGMA synchronous = \(level); expected 2 (FULL) or 3 (EXTRA): nothing else \
            may change it
            """
        case .tooManyQueues:
            "more than \(OutboxKey.largestQueue) pairs of platform and app; check which names registrations use"
        }
    }
}
