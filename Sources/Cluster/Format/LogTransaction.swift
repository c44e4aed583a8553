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

    /// As a record has it, without ``letters``, which stand behind all transactions.
    var bytes: [UInt8] {
        var writer = BlobWriter(capacity: 64 + 256 * deliveries.count)
        writer.write(self)
        return writer.bytes
    }

    /// What ``letters`` take in a record, at most.
    var lettersSize: Int { letters.reduce(4) { $0 + $1.utf8.count + 2 } }

    package var isEmpty: Bool {
        pace.isEmpty && deliveries.isEmpty && causes.isEmpty && letters.isEmpty && changes.isEmpty
    }
}

extension OutboxKey {
    /// The key of a delivery in a partition's log.
    package init(number: Int64) { self.init(queue: 0, sequence: number) }

    static let numberRange: ClosedRange<Int64> = 0...(1 << 44 - 1)
}

// MARK: Writing

extension BlobWriter {
    mutating func write(_ transaction: LogTransaction) {
        write(transaction.pace)
        write(transaction.deliveries) { $0.write($1) }
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
        write(delivery.id)
        write(signed: delivery.device.rawValue)
        write(delivery.platform)
        write(delivery.app)
        write(delivery.acceptedAt)
        write(blob: delivery.notification.blob)
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
    mutating func transaction() throws(BlobError) -> LogTransaction {
        var transaction = LogTransaction()
        transaction.pace = try paceChanges()
        transaction.deliveries = try list { reader throws(BlobError) in try reader.delivery() }
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

    mutating func notification() throws(BlobError) -> Notification {
        let bytes = try blob()
        return try bytes.withUnsafeBytes { bytes in
            Result { () throws(BlobError) in try Notification(blob: bytes) }
        }.get()
    }

    mutating func delivery() throws(BlobError) -> Delivery {
        let (id, device, platform, app) = (try text(), try device(), try text(), try text())
        let acceptedAt = try moment()
        return Delivery(
            id: id,
            device: device,
            platform: platform,
            app: app,
            notification: try notification(),
            acceptedAt: acceptedAt
        )
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
