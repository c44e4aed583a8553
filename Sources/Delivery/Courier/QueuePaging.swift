import Core
import DequeModule
import Push

/// Pages one queue's deliveries between memory and disk, and finds deliveries for operators in both.
///
/// First tries are loaded in order, up to the key `taken`. Retries are loaded by due time: all before `horizon` are in
/// memory, all from there on only on disk. While a page of retries is read, no delivery moves from memory to disk.
///
/// Its functions take the deliveries in memory as an argument, because ``CourierQueue`` owns them.
struct QueuePaging: Sendable {
    /// The queue's index among the courier's queues.
    let index: Int
    /// The queue's number in the outbox.
    private let number: Int
    private let limits: CourierLimits
    /// The last first try that is or was in memory.
    private var taken: OutboxKey
    /// The last delivery known to be accepted.
    private var lastAccepted: OutboxKey
    /// The value of `lastAccepted` when a page of first tries was requested; nil if none is being read.
    private var readingUpTo: OutboxKey?
    private(set) var horizon: RetryPlace?
    private var isReadingRetries = false
    /// Deliveries in memory with a due time on disk, so that a page of retries may contain them again.
    private(set) var retrying: Set<OutboxKey> = []
    /// Those of them that ended while a page was read, which may contain them once more.
    private var endedWhileReading: [OutboxKey] = []
    /// Deliveries on disk that were dropped or expedited while a page was read, which may contain their old state.
    private var droppedWhileReading: Set<OutboxKey> = []
    private var expeditedWhileReading: Set<OutboxKey> = []
    /// The place on disk of the retries that were expedited while a page was read; nil if there are none.
    private var expeditedTo: RetryPlace?

    /// Creates a queue with deliveries on disk up to `last`, or with none if nil.
    init(index: Int, number: Int, last: OutboxKey?, limits: CourierLimits) {
        self.index = index
        self.number = number
        self.limits = limits
        let lowest = OutboxKey.lowest(of: number)
        taken = lowest
        lastAccepted = last ?? lowest
        horizon = last == nil ? nil : RetryPlace(due: .distantPast, key: lowest)
    }

    /// Takes a delivery that was just written to disk. It is kept in memory if no earlier one is only on disk, and
    /// memory has capacity.
    mutating func accept(_ stored: StoredDelivery, into devices: inout DeviceQueues) {
        guard stored.key > taken else { return }
        let isNext = !isBehind
        lastAccepted = max(lastAccepted, stored.key)
        guard isNext, devices.count < limits.window else { return }
        taken = stored.key
        devices.append(stored)
    }

    // MARK: Pages

    /// Moves the latest due deliveries to disk if memory has too many. Deliveries that wait for others of their device
    /// get the same due time, so that they return in order; this must be stored.
    mutating func moveDelayedToDisk(from devices: inout DeviceQueues) -> [OutboxChanges.Rescheduling] {
        guard !isReadingRetries else { return [] }
        var reschedulings: [OutboxChanges.Rescheduling] = []
        while var place = devices.lastPlace,
            devices.delayedCount > limits.delayed || isBeyondHorizon(place),
            let (deliveries, stopsBlocking) = devices.removeLast()
        {
            for stored in deliveries {
                retrying.remove(stored.key)
                place.key = min(place.key, stored.key)
                guard !stopsBlocking, stored.due != place.due else { continue }
                reschedulings.append(
                    OutboxChanges.Rescheduling(key: stored.key, due: place.due, attempts: stored.attempts)
                )
            }
            lowerHorizon(to: place)
        }
        return reschedulings
    }

    /// Returns the pages to read now.
    mutating func nextReads(for devices: DeviceQueues) -> [OutboxRead] {
        var reads: [OutboxRead] = []
        let capacity = limits.window - devices.count
        if isBehind, !isReadingFirstTries, capacity >= limits.window / 2 {
            readingUpTo = lastAccepted
            let part = OutboxRead.Part.firstTries(after: taken)
            reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
        if let horizon, !isReadingRetries, capacity >= limits.page,
            devices.delayedCount < limits.page
        {
            isReadingRetries = true
            let part = OutboxRead.Part.retries(from: horizon)
            reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
        return reads
    }

    /// Takes the deliveries of a requested page.
    mutating func take(_ page: OutboxPage, of part: OutboxRead.Part, now: Timestamp, into devices: inout DeviceQueues) {
        switch part {
        case .firstTries:
            for stored in page.deliveries where take(stored.key) && !isDropped(stored.key) {
                devices.append(stored)
            }
            endReadingFirstTries(isLast: page.isLast)
        case .retries:
            var last: RetryPlace?
            for stored in page.deliveries {
                last = RetryPlace(due: stored.due ?? .distantPast, key: stored.key)
                guard !isDropped(stored.key), noteRetry(stored.key) else { continue }
                devices.delay(stored, until: isExpedited(stored.key) ? now : Self.due(stored, at: now))
            }
            endReadingRetries(last: last, isLast: page.isLast)
        }
    }

    /// When a retry from disk is due. If the clock was set back since it was postponed, which its acceptance time
    /// shows, it waits no longer than planned.
    private static func due(_ stored: StoredDelivery, at now: Timestamp) -> Timestamp {
        let due = stored.due ?? .distantPast
        let accepted = stored.delivery.acceptedAt
        let step = accepted - now
        guard step > CourierQueues.tolerance, due > accepted else { return due }
        return due - step
    }

    // MARK: Operators

    /// Removes queued ones of `entries` from memory. The rest may be on disk.
    mutating func drop(
        _ entries: [QueueEntry],
        from devices: inout DeviceQueues
    ) -> (removed: [StoredDelivery], underWay: Int, absent: [QueueEntry]) {
        let removal = devices.remove(Set(entries.compactMap(\.key)))
        for stored in removal.removed { end(stored) }
        let handled = Set(removal.removed.map(\.key)).union(removal.underWay)
        let absent = entries.filter { entry in entry.key.map { !handled.contains($0) } ?? false }
        drop(Set(absent.compactMap(\.key)))
        return (removal.removed, removal.underWay.count, absent)
    }

    /// Makes waiting ones of `entries` due now. Returns those in memory in their new state, and those to reschedule on
    /// disk.
    mutating func expedite(
        _ entries: [QueueEntry],
        in devices: inout DeviceQueues,
        now: Timestamp
    ) -> (expedited: [StoredDelivery], onDisk: [QueueEntry]) {
        let (expedited, inMemory) = devices.expedite(Set(entries.compactMap(\.key)), now: now)
        let onDisk = entries.filter { entry in
            guard let key = entry.key, let due = entry.due else { return false }
            return due > now && !inMemory.contains(key)
        }
        guard !onDisk.isEmpty, expedite(Set(onDisk.compactMap(\.key)), now: now) else { return (expedited, []) }
        return (expedited, onDisk)
    }

    // MARK: Keys

    /// Whether some first tries are only on disk.
    private var isBehind: Bool { lastAccepted > taken }

    private var isReadingFirstTries: Bool { readingUpTo != nil }

    /// Records that deliveries up to `key` were accepted and stay on disk.
    mutating func leave(upTo key: OutboxKey) { lastAccepted = max(lastAccepted, key) }

    /// Records a row of a page of first tries. Returns whether it is new.
    private mutating func take(_ key: OutboxKey) -> Bool {
        guard key > taken else { return false }
        taken = key
        lastAccepted = max(lastAccepted, key)
        return true
    }

    private mutating func endReadingFirstTries(isLast: Bool) {
        if isLast, let readingUpTo { taken = max(taken, readingUpTo) }
        readingUpTo = nil
        if !isReadingRetries { droppedWhileReading.removeAll() }
    }

    private func isBeyondHorizon(_ place: RetryPlace) -> Bool { horizon.map { place >= $0 } ?? false }

    private mutating func lowerHorizon(to place: RetryPlace) { horizon = min(horizon ?? place, place) }

    /// `last` is the last place of the page that was read.
    private mutating func endReadingRetries(last: RetryPlace?, isLast: Bool) {
        isReadingRetries = false
        if isLast {
            horizon = nil
        } else if let last {
            horizon = RetryPlace(due: last.due, key: OutboxKey(rawValue: last.key.rawValue + 1))
        }
        retrying.subtract(endedWhileReading)
        endedWhileReading.removeAll()
        if !isReadingFirstTries { droppedWhileReading.removeAll() }
        expeditedWhileReading.removeAll()
        if let due = expeditedTo { lowerHorizon(to: due) }
        expeditedTo = nil
    }

    /// Records that deliveries which are not in memory are being removed from disk.
    private mutating func drop(_ keys: Set<OutboxKey>) {
        if isReadingFirstTries || isReadingRetries { droppedWhileReading.formUnion(keys) }
    }

    private func isDropped(_ key: OutboxKey) -> Bool { droppedWhileReading.contains(key) }

    /// Records that retries which are not in memory become due at `now` on disk. Returns whether there can be any.
    private mutating func expedite(_ keys: Set<OutboxKey>, now: Timestamp) -> Bool {
        let place = RetryPlace(due: now, key: OutboxKey(rawValue: 0))
        if isReadingRetries {
            expeditedWhileReading.formUnion(keys)
            expeditedTo = place
            return true
        }
        guard horizon != nil else { return false }
        lowerHorizon(to: place)
        return true
    }

    private func isExpedited(_ key: OutboxKey) -> Bool { expeditedWhileReading.contains(key) }

    /// Records that a delivery in memory has a due time on disk. Returns whether that is new.
    @discardableResult
    mutating func noteRetry(_ key: OutboxKey) -> Bool { retrying.insert(key).inserted }

    /// Records that a delivery has ended.
    mutating func end(_ stored: StoredDelivery) {
        guard stored.due != nil else { return }
        if isReadingRetries {
            endedWhileReading.append(stored.key)
        } else {
            retrying.remove(stored.key)
        }
    }
}
