import Delivery
import Notifications
import Units

/// What happens to a partition as a whole or not at all: an insertion into its outbox, dead letters that go, or
/// outcomes, or all of these, applied in this order.
///
/// Deliveries are numbered in the order in which they come into the partition. Keys in ``changes`` are these numbers:
/// their queue is 0.
package struct LogTransaction: Equatable, Sendable {
    package var pace = PaceChanges()
    package var deliveries: [Delivery] = []
    /// 32 bytes each.
    package var causes: [[UInt8]] = []
    /// Dead letters that go, by the ids of their deliveries: these are among ``deliveries`` again, or dropped.
    package var letters: [String] = []
    package var changes = OutboxChanges()

    package init() {}

    package var isEmpty: Bool {
        pace.isEmpty && deliveries.isEmpty && causes.isEmpty && letters.isEmpty && changes.isEmpty
    }
}

/// A transaction as a record has it.
struct EncodedTransaction: Sendable {
    /// Notifications that several deliveries have, in the form that stands before the transaction since version 3; nil
    /// where none is shared.
    let shared: [UInt8]?
    /// The rest, but for dead letters, which stand behind all transactions.
    let body: [UInt8]
    let letters: [String]

    /// `sharing`: a notification that several deliveries have is there once, which versions before 3 do not read.
    init(_ transaction: LogTransaction, sharing: Bool) {
        letters = transaction.letters
        let table = SharedTable(sharing ? transaction.deliveries : [])
        var writer = BlobWriter(capacity: 64 + (table.isEmpty ? 256 : 80) * transaction.deliveries.count)
        writer.write(transaction, sharing: table)
        body = writer.bytes
        guard !table.isEmpty else {
            shared = nil
            return
        }
        var first = BlobWriter(capacity: 512)
        first.write(table)
        shared = first.bytes
    }

    /// What it takes in a record, at most.
    var size: Int { body.count + (shared?.count ?? 1) + letters.reduce(4) { $0 + $1.utf8.count + 2 } }
}

/// Notifications that several deliveries have, as they stand before these.
struct SharedTable {
    private let inserted: InsertedNotifications
    private let count: Int
    private let blobs: [[UInt8]]
    /// By the places of the first deliveries that have them.
    private let numbers: [Int: Int]

    init(_ deliveries: [Delivery]) {
        inserted = InsertedNotifications(of: deliveries)
        count = deliveries.count
        let shared = inserted.shared
        blobs = shared.map(\.blob)
        numbers = Dictionary(uniqueKeysWithValues: shared.enumerated().map { ($1.place, $0) })
    }

    var isEmpty: Bool { blobs.isEmpty }

    fileprivate enum Content {
        case own([UInt8])
        /// The number of a shared one.
        case shared(Int)
    }

    /// What stands for the notification of the delivery at `place`, if it is one of these.
    fileprivate func content(of delivery: Delivery, at place: Int) -> Content {
        guard place < count else { return .own(delivery.notification.blob) }
        guard !isEmpty, let number = inserted.sharedPlace(at: place).flatMap({ numbers[$0] }) else {
            return .own(inserted.blob(at: place))
        }
        return .shared(number)
    }

    fileprivate func write(to writer: inout BlobWriter) { writer.write(blobs) { $0.write(blob: $1) } }
}

extension OutboxKey {
    /// The key of a delivery in a partition's log.
    package init(number: Int64) { self.init(queue: 0, sequence: number) }

    static let numberRange: ClosedRange<Int64> = 0...(1 << 44 - 1)
}

// MARK: Writing

extension BlobWriter {
    mutating func write(_ table: SharedTable) { table.write(to: &self) }

    mutating func write(_ transaction: LogTransaction, sharing table: SharedTable) {
        write(transaction.pace)
        write(Array(transaction.deliveries.enumerated())) { writer, delivery in
            writer.write(delivery.element, sharing: table, at: delivery.offset)
        }
        write(transaction.causes) { $0.write(fixed: $1) }
        write(transaction.changes)
    }

    mutating func write<Item>(_ items: [Item], _ one: (inout BlobWriter, Item) -> Void) {
        write(UInt64(items.count))
        for item in items { one(&self, item) }
    }

    mutating func write(_ moment: Timestamp) { write(signed: moment.milliseconds) }

    mutating func write<Value>(_ value: Value?, _ one: (inout BlobWriter, Value) -> Void) {
        write(flag: value != nil)
        if let value { one(&self, value) }
    }

    mutating func write(_ delivery: Delivery) {
        writeHead(of: delivery)
        write(blob: delivery.notification.blob)
    }

    /// `place` is that in the table. A shared notification is an empty one, and its number in the table.
    mutating func write(_ delivery: Delivery, sharing table: SharedTable, at place: Int) {
        writeHead(of: delivery)
        switch table.content(of: delivery, at: place) {
        case .own(let blob): write(blob: blob)
        case .shared(let number):
            write(blob: [])
            write(UInt64(number))
        }
    }

    private mutating func writeHead(of delivery: Delivery) {
        write(delivery.id)
        write(signed: delivery.device.rawValue)
        write(delivery.platform)
        write(delivery.app)
        write(delivery.acceptedAt)
    }

    mutating func write(_ row: PaceRow) {
        write(signed: row.device.rawValue)
        write(row.pushedAt)
        write(row.windowStart)
        write(signed: Int64(row.matches))
        write(signed: Int64(row.dayOfPushes))
        write(signed: Int64(row.pushes))
        write(row.underWay) { $0.write($1) }
        write(row.releasedAt)
        write(signed: Int64(row.aside))
        write(row.silentPushes) { $0.write($1) }
    }

    mutating func write(_ row: HeldRow) {
        write(signed: row.key.rawValue)
        write(byte: UInt8(truncatingIfNeeded: row.nature.rawValue))
        write(row.mark) { $0.write(signed: $1) }
        write(signed: row.madeAt)
        write(fixed: row.account)
        write(fixed: row.event)
        write(flag: row.isMessage)
        write(flag: row.hasOverflowed)
        write(row.signal.rawValue)
        write(byte: UInt8(truncatingIfNeeded: row.mode.rawValue))
        write(byte: UInt8(truncatingIfNeeded: row.urgency.rawValue))
        write(UInt64(row.count))
        write(row.since)
        write(row.expiresAt)
        switch row.content {
        case .asBefore: write(byte: 0)
        case .none: write(byte: 1)
        case .notification(let held):
            write(byte: 2)
            write(held)
        }
    }

    mutating func write(_ held: HeldNotification) {
        write(held.sealedTo) { $0.write(signed: $1) }
        write(blob: held.notification.blob)
    }

    private mutating func write(_ pace: PaceChanges) {
        write(pace.forgotten) { $0.write(signed: $1.rawValue) }
        write(pace.rows) { $0.write($1) }
        write(pace.held) { $0.write($1) }
        write(pace.released) { $0.write(signed: $1.rawValue) }
    }

    mutating func write(_ failure: DeliveryFailure) {
        write(failure.kind.rawValue)
        write(UInt64(failure.status))
        write(failure.reason)
    }

    private mutating func write(_ changes: OutboxChanges) {
        write(changes.removals) { $0.write(signed: $1.sequence) }
        write(changes.burials) { writer, burial in
            writer.write(signed: burial.key.sequence)
            writer.write(burial.failure)
            writer.write(burial.failedAt)
            writer.write(signed: Int64(burial.attempts))
        }
        write(changes.reschedulings) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
            writer.write(signed: Int64(change.attempts))
            writer.write(change.failure) { $0.write($1) }
        }
        write(changes.hastenings) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
        }
        write(changes.forgotten) { $0.write(signed: $1.rawValue) }
        write(changes.ends) { writer, end in
            writer.write(signed: end.device.rawValue)
            writer.write(end.delivery)
            writer.write(flag: end.counts)
            writer.write(flag: end.standsAside)
            writer.write(end.moment)
        }
    }
}

// MARK: Reading

extension BlobReader {
    /// `shared`: the notifications that stand before it.
    mutating func transaction(sharing shared: [Notification]) throws(BlobError) -> LogTransaction {
        var transaction = LogTransaction()
        transaction.pace = try paceChanges()
        transaction.deliveries = try list { reader throws(BlobError) in try reader.delivery(sharing: shared) }
        transaction.causes = try list { reader throws(BlobError) in try reader.fixed(32) }
        transaction.changes = try outboxChanges()
        return transaction
    }

    /// A count, and so many items of at least one byte each.
    mutating func list<Item>(
        _ one: (inout BlobReader) throws(BlobError) -> Item
    ) throws(BlobError) -> [Item] {
        let count = try count()
        var items: [Item] = []
        // An item may take a thousand times the memory of its shortest form: a count is no reason to reserve it.
        items.reserveCapacity(min(count, 1_024))
        for _ in 0..<count { items.append(try one(&self)) }
        return items
    }

    mutating func optional<Value>(
        _ one: (inout BlobReader) throws(BlobError) -> Value
    ) throws(BlobError) -> Value? {
        try flag() ? try one(&self) : nil
    }

    mutating func moment() throws(BlobError) -> Timestamp { Timestamp(milliseconds: try signed()) }

    mutating func device() throws(BlobError) -> DeviceID { DeviceID(rawValue: try signed()) }

    mutating func int32() throws(BlobError) -> Int32 {
        let start = offset
        guard let value = Int32(exactly: try signed()) else { throw .invalidValue(field: "integer", offset: start) }
        return value
    }

    mutating func uint32() throws(BlobError) -> UInt32 {
        let start = offset
        guard let value = UInt32(exactly: try integer()) else { throw .invalidValue(field: "integer", offset: start) }
        return value
    }

    mutating func number() throws(BlobError) -> Int64 {
        let start = offset
        let value = try signed()
        guard OutboxKey.numberRange.contains(value) else { throw .invalidValue(field: "number", offset: start) }
        return value
    }

    mutating func key() throws(BlobError) -> OutboxKey { OutboxKey(number: try number()) }

    mutating func attempts() throws(BlobError) -> Int {
        let start = offset
        let value = try signed()
        guard (0...Int64(Int32.max)).contains(value) else { throw .invalidValue(field: "attempts", offset: start) }
        return Int(value)
    }

    mutating func value<Value: RawRepresentable>(
        _ field: String
    ) throws(BlobError) -> Value where Value.RawValue == Int32 {
        let start = offset
        guard let value = Value(rawValue: Int32(try byte())) else { throw .invalidValue(field: field, offset: start) }
        return value
    }

    mutating func sharedNotifications() throws(BlobError) -> [Notification] {
        try list { reader throws(BlobError) in try reader.notification() }
    }

    mutating func notification() throws(BlobError) -> Notification { try Self.notification(try blob()) }

    private static func notification(_ bytes: [UInt8]) throws(BlobError) -> Notification {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(BlobError) in try Notification(blob: bytes) }
        }.get()
    }

    mutating func delivery(sharing shared: [Notification] = []) throws(BlobError) -> Delivery {
        let (id, device, platform, app) = (try text(), try device(), try text(), try text())
        let acceptedAt = try moment()
        return Delivery(
            id: id,
            device: device,
            platform: platform,
            app: app,
            notification: try notification(sharing: shared),
            acceptedAt: acceptedAt
        )
    }

    private mutating func notification(sharing shared: [Notification]) throws(BlobError) -> Notification {
        let bytes = try blob()
        guard bytes.isEmpty, !shared.isEmpty else { return try Self.notification(bytes) }
        let start = offset
        guard let number = Int(exactly: try integer()), shared.indices.contains(number) else {
            throw .invalidValue(field: "notification", offset: start)
        }
        return shared[number]
    }

    mutating func paceRow() throws(BlobError) -> PaceRow {
        PaceRow(
            device: try device(),
            pushedAt: try moment(),
            windowStart: try moment(),
            matches: try int32(),
            dayOfPushes: try int32(),
            pushes: try int32(),
            underWay: try optional { reader throws(BlobError) in try reader.text() },
            releasedAt: try moment(),
            aside: try int32(),
            silentPushes: try list { reader throws(BlobError) in try reader.moment() }
        )
    }

    mutating func heldRow() throws(BlobError) -> HeldRow {
        let key = HeldKey(rawValue: try signed())
        let nature: PushNature = try value("nature")
        let mark = try optional { reader throws(BlobError) in try reader.signed() }
        let madeAt = try signed()
        return HeldRow(
            key: key,
            account: try fixed(32),
            event: try fixed(32),
            isMessage: try flag(),
            hasOverflowed: try flag(),
            signal: Signal(rawValue: try text()),
            mode: try value("mode"),
            urgency: try value("urgency"),
            count: try uint32(),
            since: try moment(),
            expiresAt: try moment(),
            content: try heldContent(),
            nature: nature,
            mark: mark,
            madeAt: madeAt
        )
    }

    private mutating func heldContent() throws(BlobError) -> HeldRow.Content {
        let start = offset
        switch try byte() {
        case 0: return .asBefore
        case 1: return .none
        case 2: return .notification(try heldNotification())
        default: throw .invalidValue(field: "content", offset: start)
        }
    }

    mutating func heldNotification() throws(BlobError) -> HeldNotification {
        let sealedTo = try optional { reader throws(BlobError) in try reader.signed() }
        return HeldNotification(try notification(), sealedTo: sealedTo)
    }

    private mutating func paceChanges() throws(BlobError) -> PaceChanges {
        var pace = PaceChanges()
        pace.forgotten = try list { reader throws(BlobError) in try reader.device() }
        pace.rows = try list { reader throws(BlobError) in try reader.paceRow() }
        pace.held = try list { reader throws(BlobError) in try reader.heldRow() }
        pace.released = try list { reader throws(BlobError) in HeldKey(rawValue: try reader.signed()) }
        return pace
    }

    mutating func failure() throws(BlobError) -> DeliveryFailure {
        let start = offset
        guard let kind = DeliveryFailure.Kind(rawValue: try text()) else {
            throw .invalidValue(field: "failure", offset: start)
        }
        return DeliveryFailure(kind, status: try uint32(), reason: try text())
    }

    private mutating func outboxChanges() throws(BlobError) -> OutboxChanges {
        var changes = OutboxChanges()
        changes.removals = try list { reader throws(BlobError) in try reader.key() }
        changes.burials = try list { reader throws(BlobError) in
            OutboxChanges.Burial(
                key: try reader.key(),
                failure: try reader.failure(),
                failedAt: try reader.moment(),
                attempts: try reader.attempts()
            )
        }
        changes.reschedulings = try list { reader throws(BlobError) in
            OutboxChanges.Rescheduling(
                key: try reader.key(),
                due: try reader.moment(),
                attempts: try reader.attempts(),
                failure: try reader.optional { reader throws(BlobError) in try reader.failure() }
            )
        }
        changes.hastenings = try list { reader throws(BlobError) in
            OutboxChanges.Hastening(key: try reader.key(), due: try reader.moment())
        }
        changes.forgotten = try list { reader throws(BlobError) in try reader.device() }
        changes.ends = try list { reader throws(BlobError) in
            PushEnd(
                device: try reader.device(),
                delivery: try reader.text(),
                counts: try reader.flag(),
                standsAside: try reader.flag(),
                moment: try reader.moment()
            )
        }
        return changes
    }
}
