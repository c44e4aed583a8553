import Core
import Foundation
import GRDB
import Push
import Storage

/// Exports and imports all data that an outbox holds for devices.
package struct OutboxTransfer: Sendable {
    /// A dead letter as it is stored.
    package struct KeptLetter: Equatable, Sendable {
        package var delivery: Delivery
        package var failure: FailedAttempt
        package var failedAt: Timestamp
        package var attempts: Int

        package init(delivery: Delivery, failure: FailedAttempt, failedAt: Timestamp, attempts: Int) {
            self.delivery = delivery
            self.failure = failure
            self.failedAt = failedAt
            self.attempts = attempts
        }
    }

    private static let portion = 1_000

    private let outbox: Outbox

    package init(_ outbox: Outbox) { self.outbox = outbox }

    /// Calls `body` with the deliveries by queue, in the order of acceptance.
    package func forEachStored(_ body: (StoredDelivery) throws -> Void) throws {
        for queue in try outbox.waitingQueues() {
            var after = OutboxKey.lowest(of: queue.number)
            var page: OutboxPage
            repeat {
                page = try outbox.firstTries(of: queue.number, after: after, limit: Self.portion)
                for stored in page.deliveries { try body(stored) }
                after = page.lastKey ?? after
            } while !page.isLast
            var place = RetryPlace(due: .distantPast, key: OutboxKey.lowest(of: queue.number))
            repeat {
                page = try outbox.retries(of: queue.number, from: place, limit: Self.portion)
                for stored in page.deliveries { try body(stored) }
                guard let last = page.deliveries.last, let due = last.due else { break }
                place = RetryPlace(due: due, key: OutboxKey(rawValue: last.key.rawValue + 1))
            } while !page.isLast
        }
    }

    package func forEachHeld(_ body: (HeldRow) throws -> Void) throws {
        var rows: [HeldRow] = []
        try outbox.readLatest { try PaceStatements.readHeld($0) { rows.append($0) } }
        for row in rows { try body(row) }
    }

    /// Calls `body` with the events of held groups and their notifications.
    package func forEachHeldMember(_ body: (HeldMember) throws -> Void) throws {
        var members: [HeldMember] = []
        try outbox.readLatest { try PaceStatements.readMembers($0) { members.append($0) } }
        for member in members { try body(member) }
    }

    package func forEachPace(_ body: (PaceRow) throws -> Void) throws {
        var rows: [PaceRow] = []
        try outbox.readLatest { try PaceStatements.readPaces($0) { rows.append($0) } }
        for row in rows { try body(row) }
    }

    /// Calls `body` with the dead letters, the oldest first.
    package func forEachKeptLetter(_ body: (KeptLetter) throws -> Void) throws {
        let letters = try outbox.readLatest { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT id, platform, app, device, accepted, failed, attempts, failure, status, reason, notification
                    FROM outbox_dead_letter ORDER BY number
                    """
            )
            return rows.compactMap(Self.letter)
        }
        for letter in letters { try body(letter) }
    }

    private static func letter(_ row: Row) -> KeptLetter? {
        let blob: [UInt8] = Array(row[10] as Data)
        guard let id = DeliveryID(row[0]), let notification = blob.withUnsafeBytes({ try? Notification(blob: $0) }),
            let kind = FailedAttempt.Kind(rawValue: row[7])
        else { return nil }
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: row[3]),
            platform: row[1],
            app: row[2],
            notification: notification,
            acceptedAt: Timestamp(milliseconds: row[4])
        )
        return KeptLetter(
            delivery: delivery,
            failure: FailedAttempt(kind, status: UInt32(clamping: row[8] as Int64), reason: row[9]),
            failedAt: Timestamp(milliseconds: row[5]),
            attempts: row[6]
        )
    }

    /// Deletes deliveries, held groups, dead letters and paces of the devices for which `isMoved` returns true.
    package func dropEverything(of isMoved: (DeviceID) -> Bool) throws {
        var changes = OutboxChanges()
        try forEachStored { if isMoved($0.delivery.device) { changes.removals.append($0.key) } }
        var forgotten: Set<DeviceID> = []
        try forEachPace { if isMoved($0.device) { forgotten.insert($0.device) } }
        try forEachHeld { if isMoved($0.key.device) { forgotten.insert($0.key.device) } }
        try forEachKeptLetter { if isMoved($0.delivery.device) { forgotten.insert($0.delivery.device) } }
        changes.forgotten = forgotten.sorted()
        try outbox.apply(changes)
        var pace = PaceChanges()
        pace.forgotten = changes.forgotten
        try outbox.insert([], causes: [], pace: pace) { _ in }
    }

    /// Adds deliveries with their attempts so far.
    package func add(
        _ waiting: [(delivery: Delivery, attempts: Int, due: Timestamp?, failure: FailedAttempt?)]
    ) throws {
        for start in stride(from: 0, to: waiting.count, by: Self.portion) {
            let portion = waiting[start..<min(start + Self.portion, waiting.count)]
            var changes = OutboxChanges()
            try outbox.insert(portion.map(\.delivery)) { stored in
                for (entry, stored) in zip(portion, stored) {
                    guard let due = entry.due else { continue }
                    changes.reschedulings.append(
                        OutboxChanges.Rescheduling(
                            key: stored.key,
                            due: due,
                            attempts: entry.attempts,
                            failure: entry.failure
                        )
                    )
                }
            }
            try outbox.apply(changes)
        }
    }

    /// Adds dead letters.
    package func addDeadLetters(_ letters: [KeptLetter]) throws {
        var changes = OutboxChanges()
        try outbox.insert(letters.map(\.delivery)) { stored in
            changes.removals = stored.map(\.key)
            changes.newDeadLetters = zip(letters, stored).map { letter, stored in
                OutboxChanges.NewDeadLetter(
                    key: stored.key,
                    failure: letter.failure,
                    failedAt: letter.failedAt,
                    attempts: letter.attempts
                )
            }
        }
        try outbox.apply(changes)
    }
}

extension OutboxPage {
    /// The last key of the page, readable or not.
    fileprivate var lastKey: OutboxKey? {
        [deliveries.last?.key, unreadable.last?.key].compactMap(\.self).max()
    }
}
