import Delivery
import DequeModule
import Notifications
import Units

/// Everything that waits in a partition, as its log made it: what the outbox of one machine would hold. The same
/// records lead to the same state on every member.
package struct PartitionState: Equatable, Sendable {
    /// How much is remembered. Members that differ in this only remember different amounts.
    package struct Limits: Hashable, Sendable {
        package var causes = 16_384
        package var withdrawals = 16_384
        package var deadLetters = 1_000

        package init() {}
    }

    /// A delivery that has no final outcome.
    package struct Waiting: Equatable, Sendable {
        package var delivery: Delivery
        package var attempts = 0
        /// Nil: it waits for its first attempt.
        package var due: Timestamp?
        package var failure: DeliveryFailure?
    }

    /// A delivery that failed for good, and is kept for a while.
    package struct DeadLetter: Equatable, Sendable {
        package var delivery: Delivery
        package var failure: DeliveryFailure
        package var failedAt: Timestamp
        package var attempts: Int
    }

    /// The last record that is part of it.
    package internal(set) var identity = LogRecord.Identity.none
    /// Epochs up to that record that did nothing, in a row.
    package internal(set) var idleEpochs: UInt64 = 0
    /// The number of the next delivery.
    package internal(set) var nextDelivery: Int64 = 1
    package internal(set) var waiting: [Int64: Waiting] = [:]
    package internal(set) var paces: [DeviceID: PaceRow] = [:]
    package internal(set) var held: [HeldKey: HeldRow] = [:]
    /// The events of those groups.
    package internal(set) var members: [HeldMemberKey: HeldMember] = [:]
    package internal(set) var deadLetters: [Int64: DeadLetter] = [:]
    /// Up to when relays were read whose reader the partition's owner is, in seconds since 1970, by their URLs.
    package internal(set) var relays: [String: Int64] = [:]
    private(set) var nextLetter: Int64 = 1
    private var causeOrder: Deque<[UInt8]> = []
    private var causes: Set<[UInt8]> = []
    /// What authors took back, the oldest first.
    package private(set) var withdrawals: Deque<Withdrawal> = []
    private let limits: Limits

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether an event was accepted, as far back as that is remembered.
    package func isKnown(_ cause: [UInt8]) -> Bool { causes.contains(cause) }

    /// The events that are remembered, the oldest first.
    package var knownCauses: [[UInt8]] { Array(causeOrder) }

    // MARK: Records

    /// Takes up the next record. Throws for one that does not follow, and then is as before.
    package mutating func apply(_ record: LogRecord) throws(PartitionLogError) {
        switch record.body {
        case .beginning(let beginning):
            guard beginning.previousEpoch == identity.epoch, beginning.previousIndex == identity.index,
                record.identity.epoch > identity.epoch, record.identity.index == 0
            else { throw .gap }
            idleEpochs = beginning.idleEpochs
        case .transactions(let transactions, let firstDelivery):
            guard isNext(record.identity), firstDelivery == nextDelivery else { throw .gap }
            for transaction in transactions { apply(transaction) }
            idleEpochs = 0
        case .marks(let marks):
            guard isNext(record.identity) else { throw .gap }
            for mark in marks { relays[mark.relay] = mark.moment }
        }
        identity = record.identity
    }

    /// Whether a record of this name, or one that came later, was taken up.
    func includes(_ identity: LogRecord.Identity) -> Bool {
        (identity.epoch, identity.index) <= (self.identity.epoch, self.identity.index)
    }

    private func isNext(_ next: LogRecord.Identity) -> Bool {
        next.epoch == identity.epoch && next.author == identity.author && next.index == identity.index + 1
    }

    private mutating func apply(_ transaction: LogTransaction) {
        for cause in transaction.causes { remember(cause) }
        apply(transaction.pace)
        for delivery in transaction.deliveries {
            waiting[nextDelivery] = Waiting(delivery: delivery)
            nextDelivery += 1
        }
        if !transaction.letters.isEmpty {
            let gone = Set(transaction.letters)
            deadLetters = deadLetters.filter { !gone.contains($0.value.delivery.id) }
        }
        apply(transaction.changes)
    }

    mutating func remember(_ cause: [UInt8]) {
        guard causes.insert(cause).inserted else { return }
        causeOrder.append(cause)
        if causeOrder.count > limits.causes { causes.remove(causeOrder.removeFirst()) }
    }

    mutating func remember(_ withdrawal: Withdrawal) {
        withdrawals.append(withdrawal)
        if withdrawals.count > limits.withdrawals { withdrawals.removeFirst() }
    }

    private mutating func apply(_ pace: PaceChanges) {
        for device in pace.forgotten {
            paces[device] = nil
            for slot in 0..<UInt8(HeldKey.slots) { held[HeldKey(device: device, slot: slot)] = nil }
            for number in UInt8.min...UInt8.max { members[HeldMemberKey(device: device, number: number)] = nil }
        }
        forgetLetters(of: pace.forgotten)
        for row in pace.rows { paces[row.device] = row }
        for row in pace.held { held[row.key] = row }
        for key in pace.released { held[key] = nil }
        for key in pace.removed { members[key] = nil }
        for member in pace.members { members[member.key] = member }
        for withdrawal in pace.withdrawn { remember(withdrawal) }
    }

    private mutating func apply(_ changes: OutboxChanges) {
        for change in changes.reschedulings {
            guard var entry = waiting[change.key.sequence] else { continue }
            entry.due = change.due
            entry.attempts = change.attempts
            entry.failure = change.failure ?? entry.failure
            waiting[change.key.sequence] = entry
        }
        for change in changes.hastenings {
            guard let due = waiting[change.key.sequence]?.due, due > change.due else { continue }
            waiting[change.key.sequence]?.due = change.due
        }
        for burial in changes.burials { bury(burial) }
        forgetLetters(of: changes.forgotten)
        for end in changes.ends { apply(end) }
        for key in changes.removals { waiting[key.sequence] = nil }
    }

    private mutating func bury(_ burial: OutboxChanges.Burial) {
        guard let entry = waiting[burial.key.sequence] else { return }
        keep(
            DeadLetter(
                delivery: entry.delivery,
                failure: burial.failure,
                failedAt: burial.failedAt,
                attempts: burial.attempts
            )
        )
    }

    mutating func keep(_ letter: DeadLetter) {
        guard limits.deadLetters > 0 else { return }
        deadLetters[nextLetter] = letter
        nextLetter += 1
        guard deadLetters.count > limits.deadLetters else { return }
        deadLetters.keys.min().map { deadLetters[$0] = nil }
    }

    private mutating func forgetLetters(of devices: [DeviceID]) {
        guard !devices.isEmpty, !deadLetters.isEmpty else { return }
        let forgotten = Set(devices)
        deadLetters = deadLetters.filter { !forgotten.contains($0.value.delivery.device) }
    }

    /// What the end of a delivery means for its device's pace.
    private mutating func apply(_ end: PushEnd) {
        guard var row = paces[end.device], row.underWay == end.delivery else { return }
        if end.counts {
            row.pushedAt = end.moment
            row.aside = 0
        } else {
            if end.standsAside {
                guard row.aside < PaceRow.mostAside else { return }
                row.aside += 1
            }
            let day = min(row.releasedAt, end.moment).milliseconds / 86_400_000
            if row.pushes > 0, Int64(row.dayOfPushes) == day { row.pushes -= 1 }
        }
        row.underWay = nil
        paces[end.device] = row
    }
}

// MARK: Snapshots

extension PartitionState {
    /// The whole state as members of version `wire` read it, which starts with its format's version: 1, 2 with the
    /// marks of relays at its end, or 3 with the notifications that several deliveries have before these.
    package func snapshot(wire: Int = LogRecord.formatVersion) -> [UInt8] {
        let waiting = waiting.sorted { $0.key < $1.key }
        let table = SharedTable(wire < LogRecord.versionOfShared ? [] : waiting.map(\.value.delivery))
        let version = wire < LogRecord.versionOfMarks ? 1 : table.isEmpty ? 2 : 3
        var writer = BlobWriter(capacity: 256 + 320 * waiting.count + 33 * causeOrder.count)
        writer.write(byte: UInt8(version))
        writer.write(identity)
        writer.write(idleEpochs)
        writer.write(signed: nextDelivery)
        writer.write(signed: nextLetter)
        if version >= LogRecord.versionOfShared { writer.write(table) }
        writer.write(Array(waiting.enumerated())) { writer, item in
            let entry = item.element
            writer.write(signed: entry.key)
            writer.write(entry.value.delivery, sharing: table, at: item.offset)
            writer.write(signed: Int64(entry.value.attempts))
            writer.write(entry.value.due) { $0.write($1) }
            writer.write(entry.value.failure) { $0.write($1) }
        }
        writer.write(paces.values.sorted { $0.device < $1.device }) { $0.write($1) }
        writer.write(held.values.sorted { $0.key.rawValue < $1.key.rawValue }) { $0.write($1) }
        writer.write(members.values.sorted { $0.key.rawValue < $1.key.rawValue }) { $0.write($1) }
        writer.write(Array(causeOrder)) { $0.write(fixed: $1) }
        writer.write(Array(withdrawals)) { $0.write($1) }
        writer.write(deadLetters.sorted { $0.key < $1.key }) { writer, entry in
            writer.write(signed: entry.key)
            writer.write(entry.value.delivery)
            writer.write(entry.value.failure)
            writer.write(entry.value.failedAt)
            writer.write(signed: Int64(entry.value.attempts))
        }
        guard version > 1 else { return writer.bytes }
        writer.write(relays.sorted { $0.key < $1.key }) { $0.write(RelayMark(relay: $1.key, moment: $1.value)) }
        return writer.bytes
    }

    /// Reads ``snapshot(wire:)``. The bytes may be anything.
    package init(snapshot: [UInt8], limits: Limits = Limits()) throws(BlobError) {
        self = try BlobReader.reading(snapshot) { reader throws(BlobError) in
            let version = try reader.byte()
            guard (1...3).contains(version) else { throw .unknownVersion(version) }
            var state = PartitionState(limits: limits)
            state.identity = try reader.identity()
            state.idleEpochs = try reader.integer()
            state.nextDelivery = try reader.number()
            state.nextLetter = try reader.number()
            let shared = version >= LogRecord.versionOfShared ? try reader.sharedNotifications() : []
            for (number, entry) in try reader.list({ reader throws(BlobError) in
                try reader.waiting(sharing: shared)
            }) {
                state.waiting[number] = entry
            }
            for row in try reader.list({ reader throws(BlobError) in try reader.paceRow() }) {
                state.paces[row.device] = row
            }
            for row in try reader.list({ reader throws(BlobError) in try reader.heldRow() }) {
                state.held[row.key] = row
            }
            for member in try reader.list({ reader throws(BlobError) in try reader.heldMember() }) {
                state.members[member.key] = member
            }
            for cause in try reader.list({ reader throws(BlobError) in try reader.fixed(32) })
            where state.causes.insert(cause).inserted {
                state.causeOrder.append(cause)
            }
            state.withdrawals = Deque(
                try reader.list { reader throws(BlobError) in try reader.withdrawal() }
            )
            for (number, letter) in try reader.list({ reader throws(BlobError) in try reader.deadLetter() }) {
                state.deadLetters[number] = letter
            }
            let marks = version > 1 ? try reader.list { reader throws(BlobError) in try reader.relayMark() } : []
            for mark in marks { state.relays[mark.relay] = mark.moment }
            try reader.end()
            return state
        }
    }
}

extension BlobReader {
    fileprivate mutating func waiting(
        sharing shared: [Notification]
    ) throws(BlobError) -> (Int64, PartitionState.Waiting) {
        let number = try number()
        let entry = PartitionState.Waiting(
            delivery: try delivery(sharing: shared),
            attempts: try attempts(),
            due: try optional { reader throws(BlobError) in try reader.moment() },
            failure: try optional { reader throws(BlobError) in try reader.failure() }
        )
        return (number, entry)
    }

    fileprivate mutating func deadLetter() throws(BlobError) -> (Int64, PartitionState.DeadLetter) {
        let number = try number()
        let letter = PartitionState.DeadLetter(
            delivery: try delivery(),
            failure: try failure(),
            failedAt: try moment(),
            attempts: try attempts()
        )
        return (number, letter)
    }
}
