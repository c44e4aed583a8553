import Core
import Delivery
import DequeModule
import Push

/// The pending state of a partition, built from its log: the equivalent of a single router's outbox. The same records
/// lead to the same state on every member.
struct PartitionState: Equatable, Sendable {
    /// The maximum number of entries that are remembered. Members may differ in this.
    struct Limits: Hashable, Sendable {
        var causes = 16_384
        var withdrawals = 16_384
        var deadLetters = 1_000
    }

    /// A delivery without a final outcome.
    struct Waiting: Equatable, Sendable {
        var delivery: Delivery
        var attempts = 0
        /// When it is due; nil: it waits for its first attempt.
        var due: Timestamp?
        var failure: FailedAttempt?
    }

    typealias DeadLetter = OutboxTransfer.KeptLetter

    /// The last record that it includes.
    var identity = LogRecord.Identity.none
    /// The number of the next delivery.
    var nextDelivery: Int64 = 1
    var waiting: [Int64: Waiting] = [:]
    var paces: [DeviceID: PaceRow] = [:]
    var held: [HeldKey: HeldRow] = [:]
    /// The events of the groups in ``held``.
    var members: [HeldMemberKey: HeldMember] = [:]
    var deadLetters: [Int64: DeadLetter] = [:]
    /// The read positions of the relays that the partition's owner reads, in seconds since 1970, by URL.
    var relays: [String: Int64] = [:]
    private(set) var nextLetter: Int64 = 1
    private var causeOrder: Deque<[UInt8]> = []
    private var causes: Set<[UInt8]> = []
    /// Notifications that authors withdrew, oldest first.
    private(set) var withdrawals: Deque<Withdrawal> = []
    private let limits: Limits

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether an event was accepted, among the events that are still remembered.
    func isKnown(_ cause: [UInt8]) -> Bool { causes.contains(cause) }

    /// The remembered events, oldest first.
    var knownCauses: [[UInt8]] { Array(causeOrder) }

    // MARK: Records

    /// Applies the next record. Throws without any change if it does not follow.
    mutating func apply(_ record: LogRecord) throws(PartitionLogError) {
        switch record.body {
        case .beginning(let beginning):
            guard beginning.previousEpoch == identity.epoch, beginning.previousIndex == identity.index,
                record.identity.epoch > identity.epoch, record.identity.index == 0
            else { throw .gap }
        case .transactions(let transactions, let firstDelivery):
            guard isNext(record.identity), firstDelivery == nextDelivery else { throw .gap }
            for transaction in transactions { apply(transaction) }
        case .marks(let marks):
            guard isNext(record.identity) else { throw .gap }
            for mark in marks { relays[mark.relay] = mark.moment }
        }
        identity = record.identity
    }

    /// Whether the state already includes this record or a later one.
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
        for change in changes.immediateRetries {
            guard let due = waiting[change.key.sequence]?.due, due > change.due else { continue }
            waiting[change.key.sequence]?.due = change.due
        }
        for newDeadLetter in changes.newDeadLetters { addDeadLetter(newDeadLetter) }
        forgetLetters(of: changes.forgotten)
        for end in changes.ends { apply(end) }
        for key in changes.removals { waiting[key.sequence] = nil }
    }

    private mutating func addDeadLetter(_ newDeadLetter: OutboxChanges.NewDeadLetter) {
        guard let entry = waiting[newDeadLetter.key.sequence] else { return }
        keep(
            DeadLetter(
                delivery: entry.delivery,
                failure: newDeadLetter.failure,
                failedAt: newDeadLetter.failedAt,
                attempts: newDeadLetter.attempts
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

    /// Applies the end of a delivery to its device's throttling state.
    private mutating func apply(_ end: CompletedPush) {
        guard var row = paces[end.device], row.underWay == end.delivery else { return }
        if end.counts {
            row.pushedAt = end.moment
            row.unblocked = 0
        } else {
            if end.stopsBlocking {
                guard row.unblocked < PaceRow.maxUnblocked else { return }
                row.unblocked += 1
            }
            let day = min(row.releasedAt, end.moment).milliseconds / 86_400_000
            if row.pushes > 0, Int64(row.dayOfPushes) == day { row.pushes -= 1 }
        }
        row.underWay = nil
        paces[end.device] = row
    }
}

// MARK: The outbox of one router

extension PartitionState {
    /// Adds a delivery from a single router's outbox.
    mutating func adopt(_ stored: StoredDelivery) {
        waiting[nextDelivery] = Waiting(
            delivery: stored.delivery,
            attempts: stored.attempts,
            due: stored.due,
            failure: stored.failure
        )
        nextDelivery += 1
    }

    /// The deliveries in the order of their insertion.
    var storedWaiting: [(delivery: Delivery, attempts: Int, due: Timestamp?, failure: FailedAttempt?)] {
        waiting.sorted { $0.key < $1.key }.map {
            ($0.value.delivery, $0.value.attempts, $0.value.due, $0.value.failure)
        }
    }

    var storedLetters: [DeadLetter] { deadLetters.sorted { $0.key < $1.key }.map(\.value) }

    var storedPaces: PaceChanges {
        var pace = PaceChanges()
        pace.rows = Array(paces.values)
        pace.held = Array(held.values)
        pace.members = Array(members.values)
        pace.withdrawn = Array(withdrawals)
        return pace
    }
}

// MARK: Snapshots

extension PartitionState {
    /// Encodes the whole state, starting with the format version. Shared notifications precede the deliveries.
    func snapshot() -> [UInt8] {
        let waiting = waiting.sorted { $0.key < $1.key }
        let table = SharedTable(waiting.map(\.value.delivery))
        var writer = BlobWriter(capacity: 256 + 320 * waiting.count + 33 * causeOrder.count)
        writer.write(byte: LogRecord.formatVersion)
        writer.write(identity)
        writer.write(signed: nextDelivery)
        writer.write(signed: nextLetter)
        writer.write(table)
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
        writer.write(relays.sorted { $0.key < $1.key }) { $0.write(RelayMark(relay: $1.key, moment: $1.value)) }
        return writer.bytes
    }

    /// Decodes ``snapshot()``; the input is untrusted.
    init(snapshot: [UInt8], limits: Limits = Limits()) throws(BlobError) {
        self = try BlobReader.reading(snapshot) { reader throws(BlobError) in
            let version = try reader.byte()
            guard version == LogRecord.formatVersion else { throw .unknownVersion(version) }
            var state = PartitionState(limits: limits)
            state.identity = try reader.identity()
            state.nextDelivery = try reader.number()
            state.nextLetter = try reader.number()
            let shared = try reader.sharedNotifications()
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
            for mark in try reader.list({ reader throws(BlobError) in try reader.relayMark() }) {
                state.relays[mark.relay] = mark.moment
            }
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
