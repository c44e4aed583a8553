import GRDB
import Push
import Storage

/// The notifications of deliveries that are inserted together. The notification of an event for many devices is usually
/// the same. It is stored once, and the rows of its deliveries refer to it.
package struct InsertedNotifications {
    /// A shorter notification costs less in each row than a separate row.
    private static let leastShared = 64
    /// The number of recent distinct ones that a delivery is compared with: a few languages and modes.
    private static let lookBack = 8

    private struct Distinct {
        let blob: [UInt8]
        /// The position of the first delivery that has it.
        let place: Int
        var uses = 1
    }

    private var distinct: [Distinct] = []
    /// The index in ``distinct`` by the delivery's position.
    private var indices: [Int] = []

    package init(of deliveries: [Delivery]) {
        indices.reserveCapacity(deliveries.count)
        // The identities of the distinct ones.
        var identities: [ObjectIdentifier] = []
        for place in deliveries.indices {
            let identity = deliveries[place].notification.identity
            if let known = identities.suffix(Self.lookBack).lastIndex(of: identity) {
                distinct[known].uses += 1
                indices.append(known)
            } else {
                indices.append(distinct.count)
                distinct.append(Distinct(blob: deliveries[place].notification.blob, place: place))
                identities.append(identity)
            }
        }
    }

    /// Returns the notification of the delivery at `place` in stored form.
    package func blob(at place: Int) -> [UInt8] { distinct[indices[place]].blob }

    /// Returns the position of the first delivery that shares the notification of the one at `place`; nil if its row
    /// contains the whole.
    package func sharedPlace(at place: Int) -> Int? {
        let index = indices[place]
        return Self.isShared(distinct[index].uses, distinct[index].blob.count) ? distinct[index].place : nil
    }

    /// The notifications that get a separate row, with the positions of the first deliveries that have them.
    package var shared: [(place: Int, blob: [UInt8])] {
        distinct.filter { Self.isShared($0.uses, $0.blob.count) }.map { ($0.place, $0.blob) }
    }

    private static func isShared(_ uses: Int, _ size: Int) -> Bool { uses > 1 && size >= leastShared }
}

/// Tracks which shared notifications are still needed. On disk they have the number of the first delivery that has
/// them. Those of one insertion are stored together, and deleted together after all of its deliveries have ended.
struct SharedNotificationUse: Sendable {
    /// Deliveries that were inserted together.
    private struct Group: Sendable {
        let sequences: ClosedRange<Int64>
        var left: Int
    }

    /// In order.
    private var groups: [Group] = []

    /// The number of ended deliveries of each group, by the group's index.
    typealias Ends = [Int: Int]

    /// Whether no notification is shared.
    var isEmpty: Bool { groups.isEmpty }

    /// Adds deliveries that were inserted after all others. Some share notifications.
    mutating func add(_ sequences: ClosedRange<Int64>, count: Int) {
        if count > 0 { groups.append(Group(sequences: sequences, left: count)) }
    }

    /// Groups deliveries into ranges that one statement removes. Their keys are consecutive, and they belong to one
    /// group or none, so that ``apply(_:)`` only needs the number of removed ones.
    func ranges(of keys: [OutboxKey]) -> [RemovalRange] {
        var ranges: [RemovalRange] = []
        // The last key that the current range may include.
        var limit = OutboxKey(rawValue: .min)
        for key in Self.inOrder(keys) {
            if let last = ranges.last?.last, key <= limit, key.rawValue - last.rawValue <= 1 {
                ranges[ranges.count - 1].last = key
            } else {
                let (group, end) = placeOfGroup(with: key.sequence)
                ranges.append(RemovalRange(first: key, last: key, group: group))
                limit = OutboxKey(queue: key.queue, sequence: end)
            }
        }
        return ranges
    }

    /// Outcomes usually come in the order of the deliveries.
    private static func inOrder(_ keys: [OutboxKey]) -> [OutboxKey] {
        zip(keys, keys.dropFirst()).allSatisfy { $0 <= $1 } ? keys : keys.sorted()
    }

    /// Returns the numbers of the notifications that are no longer needed after `ends`.
    func unneeded(after ends: Ends) -> [ClosedRange<Int64>] {
        ends.filter { groups[$0.key].left <= $0.value }.map { groups[$0.key].sequences }
    }

    /// Records that `ends` are on disk.
    mutating func apply(_ ends: Ends) {
        for (group, count) in ends { groups[group].left -= count }
        if ends.keys.contains(where: { groups[$0].left <= 0 }) { groups.removeAll { $0.left <= 0 } }
    }

    /// Returns the group of a delivery, if any, and the last sequence of that group or of the gap between two.
    private func placeOfGroup(with sequence: Int64) -> (group: Int?, end: Int64) {
        var (low, high) = (0, groups.count)
        while low < high {
            let middle = (low + high) / 2
            if groups[middle].sequences.upperBound < sequence { low = middle + 1 } else { high = middle }
        }
        guard low < groups.count else { return (nil, OutboxKey.largestSequence) }
        let sequences = groups[low].sequences
        return sequences.contains(sequence) ? (low, sequences.upperBound) : (nil, sequences.lowerBound - 1)
    }
}

/// Deliveries of one queue that one statement removes: all keys from the first to the last.
struct RemovalRange: Equatable {
    let first: OutboxKey
    fileprivate(set) var last: OutboxKey
    /// The index of their group in ``SharedNotificationUse``, if any.
    let group: Int?
}

/// The result of a removal.
struct RemovedDeliveries {
    /// How many of the deliveries existed.
    private(set) var count = 0
    private(set) var ends: SharedNotificationUse.Ends = [:]

    mutating func add(_ removed: Int, of range: RemovalRange) {
        count += removed
        if removed > 0, let group = range.group { ends[group, default: 0] += removed }
    }
}

/// Reads and writes the rows of shared notifications, within the caller's transaction.
enum SharedNotificationRows {
    /// An SQL expression for the content of a delivery, shared or not.
    static let content = """
        coalesce((SELECT content FROM outbox_notification WHERE outbox_notification.number = shared), notification)
        """

    static func insert(_ notifications: [(number: Int64, blob: [UInt8])], _ database: Database) throws {
        try database.run("INSERT INTO outbox_notification (number, content) VALUES (?, ?)", for: notifications) {
            try $0.bind($1.number, at: 1)
            try $0.bind(blob: $1.blob, at: 2)
        }
    }

    static func delete(_ numbers: [ClosedRange<Int64>], _ database: Database) throws {
        try database.run("DELETE FROM outbox_notification WHERE number BETWEEN ? AND ?", for: numbers) {
            try $0.bind($1.lowerBound, at: 1)
            try $0.bind($1.upperBound, at: 2)
        }
    }

    /// Deletes notifications that no delivery uses. Returns whether there are any others.
    static func prune(_ database: Database) throws -> Bool {
        guard try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM outbox_notification)") ?? false else {
            return false
        }
        try database.execute(
            sql: """
                DELETE FROM outbox_notification WHERE number NOT IN (
                    SELECT shared FROM outbox_delivery WHERE shared IS NOT NULL
                )
                """
        )
        return try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM outbox_notification)") ?? false
    }
}

/// Reads the notifications of consecutive rows. It caches the last one, because the rows of an event for many devices
/// have the same notification.
struct StoredNotifications {
    private let select: RawStatement
    private var bytes: [UInt8] = []
    private var number: Int64?
    private var notification: Notification?

    init(_ database: Database) throws {
        select = try RawStatement(database, "SELECT content FROM outbox_notification WHERE number = ?")
    }

    /// Returns the notification in one column of `row`, or the shared one that another column refers to. Throws a
    /// ``BlobError`` if it cannot be read.
    mutating func notification(of row: RawStatement, at column: Int32, shared: Int32) throws -> Notification {
        guard !row.isNull(at: shared) else { return try notification(of: row.bytes(at: column)) }
        let number = row.integer(at: shared)
        if let notification, self.number == number { return notification }
        defer { select.reset() }
        try select.bind(number, at: 1)
        guard try select.step() else { throw BlobError.truncated(offset: 0) }
        let read = try Notification(blob: select.bytes(at: 0))
        (bytes, notification, self.number) = ([], read, number)
        return read
    }

    private mutating func notification(of blob: UnsafeRawBufferPointer) throws(BlobError) -> Notification {
        if number == nil, let notification, bytes.elementsEqual(blob) { return notification }
        let read = try Notification(blob: blob)
        (bytes, notification, number) = (Array(blob), read, nil)
        return read
    }
}
