import DequeModule
import Notifications
import Units

/// What of one queue is in memory and what waits only on disk: asks for pages, takes them, leaves to the disk what is
/// due late, and finds deliveries that an operator means in both places.
///
/// The deliveries in memory are lent to it, as they also belong to the turns of their devices.
struct QueuePaging: Sendable {
    /// The queue's index among the courier's queues.
    private let index: Int
    /// The queue's number in the outbox.
    private let number: Int
    private let limits: CourierLimits
    private(set) var backlog: Backlog

    init(index: Int, number: Int, backlog: Backlog, limits: CourierLimits) {
        self.index = index
        self.number = number
        self.backlog = backlog
        self.limits = limits
    }

    /// Takes a delivery that is on disk now. It comes into memory if nothing before it waits only on disk and memory
    /// has space.
    mutating func accept(_ stored: StoredDelivery, into devices: inout DeviceQueues) {
        if backlog.accept(stored.key, hasRoom: devices.count < limits.window) { devices.append(stored) }
    }

    /// Notes that deliveries up to `key` were accepted and left on disk.
    mutating func leave(upTo key: OutboxKey) { backlog.leave(upTo: key) }

    /// Notes that a delivery in memory has ended.
    mutating func end(_ stored: StoredDelivery) { backlog.end(stored) }

    /// Notes that a delivery in memory has a due time on disk.
    mutating func noteRetry(_ key: OutboxKey) { backlog.noteRetry(key) }

    // MARK: Pages

    /// Leaves the latest due deliveries to the disk, where memory has too many of them. Deliveries that wait behind
    /// others of their device get the same due time, so that they come back in order: the disk has to know that.
    mutating func moveDelayedToDisk(from devices: inout DeviceQueues) -> [OutboxChanges.Rescheduling] {
        guard !backlog.isReadingRetries else { return [] }
        var reschedulings: [OutboxChanges.Rescheduling] = []
        while var place = devices.lastPlace,
            devices.delayedCount > limits.delayed || backlog.isBeyondHorizon(place),
            let (deliveries, standsAside) = devices.removeLast()
        {
            for stored in deliveries {
                backlog.forgetRetry(stored.key)
                place.key = min(place.key, stored.key)
                guard !standsAside, stored.due != place.due else { continue }
                reschedulings.append(
                    OutboxChanges.Rescheduling(key: stored.key, due: place.due, attempts: stored.attempts)
                )
            }
            backlog.lowerHorizon(to: place)
        }
        return reschedulings
    }

    /// The pages to read now.
    mutating func nextReads(for devices: DeviceQueues) -> [OutboxRead] {
        var reads: [OutboxRead] = []
        let capacity = limits.window - devices.count
        if backlog.isBehind, !backlog.isReadingFirstTries, capacity >= limits.window / 2 {
            backlog.beginReadingFirstTries()
            let part = OutboxRead.Part.firstTries(after: backlog.taken)
            reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
        if let horizon = backlog.horizon, !backlog.isReadingRetries, capacity >= limits.page,
            devices.delayedCount < limits.page
        {
            backlog.beginReadingRetries()
            let part = OutboxRead.Part.retries(from: horizon)
            reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
        return reads
    }

    /// Takes the deliveries of a page that was asked for.
    mutating func take(_ page: OutboxPage, of part: OutboxRead.Part, now: Timestamp, into devices: inout DeviceQueues) {
        switch part {
        case .firstTries:
            for stored in page.deliveries where backlog.take(stored.key) && !backlog.isDropped(stored.key) {
                devices.append(stored)
            }
            backlog.endReadingFirstTries(isLast: page.isLast)
        case .retries:
            var last: RetryPlace?
            for stored in page.deliveries {
                last = RetryPlace(due: stored.due ?? .distantPast, key: stored.key)
                guard !backlog.isDropped(stored.key), backlog.noteRetry(stored.key) else { continue }
                devices.delay(stored, until: backlog.isHastened(stored.key) ? now : Self.due(stored, at: now))
            }
            backlog.endReadingRetries(last: last, isLast: page.isLast)
        }
    }

    /// When a retry from disk is due. The acceptance tells whether the clock was set back since it was postponed: then
    /// it waits no longer than it was meant to.
    private static func due(_ stored: StoredDelivery, at now: Timestamp) -> Timestamp {
        let due = stored.due ?? .distantPast
        let accepted = stored.delivery.acceptedAt
        let step = accepted - now
        guard step > CourierQueues.tolerance, due > accepted else { return due }
        return due - step
    }

    // MARK: Operators

    /// Takes out of memory those of `entries` that wait there. The rest is for the disk, as far as it is there at all.
    mutating func drop(
        _ entries: [QueueEntry],
        from devices: inout DeviceQueues
    ) -> (removed: [StoredDelivery], underWay: Int, absent: [QueueEntry]) {
        let removal = devices.remove(Set(entries.compactMap(\.key)))
        for stored in removal.removed { backlog.end(stored) }
        let handled = Set(removal.removed.map(\.key)).union(removal.underWay)
        let absent = entries.filter { entry in entry.key.map { !handled.contains($0) } ?? false }
        backlog.drop(Set(absent.compactMap(\.key)))
        return (removal.removed, removal.underWay.count, absent)
    }

    /// Makes those of `entries` due that wait for a later time. Returns those in memory, as they are afterwards, and
    /// those that the disk has to make due.
    mutating func hasten(
        _ entries: [QueueEntry],
        in devices: inout DeviceQueues,
        now: Timestamp
    ) -> (hastened: [StoredDelivery], onDisk: [QueueEntry]) {
        let (hastened, inMemory) = devices.hasten(Set(entries.compactMap(\.key)), now: now)
        let onDisk = entries.filter { entry in
            guard let key = entry.key, let due = entry.due else { return false }
            return due > now && !inMemory.contains(key)
        }
        guard !onDisk.isEmpty, backlog.hasten(Set(onDisk.compactMap(\.key)), now: now) else { return (hastened, []) }
        return (hastened, onDisk)
    }
}
