import Core
import Delivery
import Push

// Encodes and decodes the fields of log records and snapshots: numbers, times, lists, and the rows of a partition's
// outbox. All input is checked, because another version may have written it.

// MARK: Writing

extension BlobWriter {
    mutating func write<Item>(_ items: [Item], _ one: (inout BlobWriter, Item) -> Void) {
        write(UInt64(items.count))
        for item in items { one(&self, item) }
    }

    mutating func write(_ id: DeliveryID) {
        write(UInt64(DeliveryID.textLength))
        id.withText { write(fixed: $0) }
    }

    mutating func write(_ moment: Timestamp) { write(signed: moment.milliseconds) }

    mutating func write<Value>(_ value: Value?, _ one: (inout BlobWriter, Value) -> Void) {
        write(flag: value != nil)
        if let value { one(&self, value) }
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
        write(signed: Int64(row.unblocked))
        write(row.silentPushes) { $0.write($1) }
    }

    mutating func write(_ row: HeldRow) {
        write(signed: row.key.rawValue)
        write(blob: row.members)
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
    }

    mutating func write(_ member: HeldMember) {
        write(signed: member.key.rawValue)
        write(fixed: member.event)
        write(byte: UInt8(truncatingIfNeeded: member.mode.rawValue))
        write(member.expiresAt)
        write(signed: member.madeAt)
        write(member.held.sealedTo) { $0.write(signed: $1) }
        write(blob: member.held.notification.blob)
    }

    mutating func write(_ withdrawal: Withdrawal) {
        write(words: withdrawal.author)
        write(signed: withdrawal.until)
        switch withdrawal.scope {
        case .event(let event):
            write(byte: 0)
            write(words: event)
        case .address(let address):
            write(byte: 1)
            write(signed: address)
        case .everything: write(byte: 2)
        case .olderVersions(let address):
            write(byte: 3)
            write(signed: address)
        }
    }

    mutating func write(_ failure: FailedAttempt) {
        write(failure.kind.rawValue)
        write(UInt64(failure.status))
        write(failure.reason)
    }
}

// MARK: Reading

extension BlobReader {
    /// A count, then that number of items of at least one byte each.
    mutating func list<Item>(
        _ one: (inout BlobReader) throws(BlobError) -> Item
    ) throws(BlobError) -> [Item] {
        let count = try count()
        var items: [Item] = []
        // An item may take a thousand times the memory of its shortest form: a hostile count must not reserve it.
        items.reserveCapacity(min(count, 1_024))
        for _ in 0..<count { items.append(try one(&self)) }
        return items
    }

    mutating func optional<Value>(
        _ one: (inout BlobReader) throws(BlobError) -> Value
    ) throws(BlobError) -> Value? {
        try flag() ? try one(&self) : nil
    }

    mutating func deliveryID() throws(BlobError) -> DeliveryID {
        let start = offset
        guard let id = DeliveryID(try text()) else { throw .invalidValue(field: "id", offset: start) }
        return id
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

    mutating func paceRow() throws(BlobError) -> PaceRow {
        PaceRow(
            device: try device(),
            pushedAt: try moment(),
            windowStart: try moment(),
            matches: try int32(),
            dayOfPushes: try int32(),
            pushes: try int32(),
            underWay: try optional { reader throws(BlobError) in try reader.deliveryID() },
            releasedAt: try moment(),
            unblocked: try int32(),
            silentPushes: try list { reader throws(BlobError) in try reader.moment() }
        )
    }

    mutating func heldRow() throws(BlobError) -> HeldRow {
        let key = HeldKey(rawValue: try signed())
        let members = try blob()
        let nature: PushNature = try value("nature")
        let mark = try optional { reader throws(BlobError) in try reader.signed() }
        let madeAt = try signed()
        return HeldRow(
            key: key,
            members: members,
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
            nature: nature,
            mark: mark,
            madeAt: madeAt
        )
    }

    mutating func heldMember() throws(BlobError) -> HeldMember {
        let key = HeldMemberKey(rawValue: try signed())
        let (event, mode): ([UInt8], Mode) = (try fixed(32), try value("mode"))
        let (expiresAt, madeAt) = (try moment(), try signed())
        let sealedTo = try optional { reader throws(BlobError) in try reader.signed() }
        return HeldMember(
            key: key,
            event: event,
            mode: mode,
            expiresAt: expiresAt,
            madeAt: madeAt,
            HeldNotification(try notification(), sealedTo: sealedTo)
        )
    }

    mutating func withdrawal() throws(BlobError) -> Withdrawal {
        let (author, until) = (try words(), try signed())
        let start = offset
        let scope: Withdrawal.Scope
        switch try byte() {
        case 0: scope = .event(try words())
        case 1: scope = .address(try signed())
        case 2: scope = .everything
        case 3: scope = .olderVersions(try signed())
        default: throw .invalidValue(field: "withdrawal", offset: start)
        }
        return Withdrawal(author: author, scope, until: until)
    }

    mutating func failure() throws(BlobError) -> FailedAttempt {
        let start = offset
        guard let kind = FailedAttempt.Kind(rawValue: try text()) else {
            throw .invalidValue(field: "failure", offset: start)
        }
        return FailedAttempt(kind, status: try uint32(), reason: try text())
    }
}

/// A relay's read position: all its events up to then were read and stored. The next reader continues there.
struct RelayMark: Hashable, Sendable {
    /// The relay's URL.
    var relay: String
    /// In seconds since 1970; nil: the relay is no longer read.
    var moment: Int64?
}

extension BlobWriter {
    mutating func write(_ mark: RelayMark) {
        write(mark.relay)
        write(mark.moment) { $0.write(signed: $1) }
    }
}

extension BlobReader {
    mutating func relayMark() throws(BlobError) -> RelayMark {
        RelayMark(
            relay: try text(),
            moment: try optional { reader throws(BlobError) in try reader.signed() }
        )
    }
}
