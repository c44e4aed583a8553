import Units

/// Which deliveries of a queue are in memory, and which only on disk.
///
/// First tries come into memory in order, so one key divides them. Retries come by due time: all before `horizon` are
/// in memory, all from there on only on disk. While a page of retries is being read nothing moves from memory to disk.
struct Backlog: Sendable {
    /// The last first try that is or was in memory.
    private(set) var taken: OutboxKey
    /// The last delivery known to be accepted.
    private var lastAccepted: OutboxKey
    /// While a page of first tries is being read: `lastAccepted` when it was asked for.
    private var readingUpTo: OutboxKey?
    private(set) var horizon: RetryPlace?
    private(set) var isReadingRetries = false
    /// Deliveries in memory that have a due time on disk: a page of retries may bring them again.
    private(set) var retrying: Set<OutboxKey> = []
    /// Those of them that ended while a page was being read, which may bring them once more.
    private var endedWhileReading: [OutboxKey] = []
    /// Deliveries that were dropped or hastened on disk while a page was being read, which may bring them as before.
    private var droppedWhileReading: Set<OutboxKey> = []
    private var hastenedWhileReading: Set<OutboxKey> = []
    /// Where retries on disk begin since then.
    private var hastenedTo: RetryPlace?

    /// A queue with nothing on disk.
    init(newQueue number: Int) {
        taken = .lowest(of: number)
        lastAccepted = taken
    }

    /// A queue that was found on disk, with deliveries up to `last`.
    init(storedQueue number: Int, last: OutboxKey) {
        taken = .lowest(of: number)
        lastAccepted = last
        horizon = RetryPlace(due: .distantPast, key: taken)
    }

    /// Whether first tries wait only on disk.
    var isBehind: Bool { lastAccepted > taken }

    var isReadingFirstTries: Bool { readingUpTo != nil }

    /// Notes a delivery that was accepted. Returns whether it may come into memory now: nothing before it waits only on
    /// disk.
    mutating func accept(_ key: OutboxKey, hasRoom: Bool) -> Bool {
        guard key > taken else { return false }
        let isNext = !isBehind
        lastAccepted = max(lastAccepted, key)
        guard isNext, hasRoom else { return false }
        taken = key
        return true
    }

    /// Notes that deliveries up to `key` were accepted and stay on disk.
    mutating func leave(upTo key: OutboxKey) { lastAccepted = max(lastAccepted, key) }

    mutating func beginReadingFirstTries() { readingUpTo = lastAccepted }

    /// Notes a row of a page of first tries. Returns whether it is new.
    mutating func take(_ key: OutboxKey) -> Bool {
        guard key > taken else { return false }
        taken = key
        lastAccepted = max(lastAccepted, key)
        return true
    }

    mutating func endReadingFirstTries(isLast: Bool) {
        if isLast, let readingUpTo { taken = max(taken, readingUpTo) }
        readingUpTo = nil
        if !isReadingRetries { droppedWhileReading.removeAll() }
    }

    func isBeyondHorizon(_ place: RetryPlace) -> Bool { horizon.map { place >= $0 } ?? false }

    mutating func lowerHorizon(to place: RetryPlace) { horizon = min(horizon ?? place, place) }

    mutating func beginReadingRetries() { isReadingRetries = true }

    /// `last` is the last place of the page that was read.
    mutating func endReadingRetries(last: RetryPlace?, isLast: Bool) {
        isReadingRetries = false
        if isLast {
            horizon = nil
        } else if let last {
            horizon = RetryPlace(due: last.due, key: OutboxKey(rawValue: last.key.rawValue + 1))
        }
        retrying.subtract(endedWhileReading)
        endedWhileReading.removeAll()
        if !isReadingFirstTries { droppedWhileReading.removeAll() }
        hastenedWhileReading.removeAll()
        if let due = hastenedTo { lowerHorizon(to: due) }
        hastenedTo = nil
    }

    /// Notes that deliveries which are not in memory are being removed from disk.
    mutating func drop(_ keys: Set<OutboxKey>) {
        if isReadingFirstTries || isReadingRetries { droppedWhileReading.formUnion(keys) }
    }

    func isDropped(_ key: OutboxKey) -> Bool { droppedWhileReading.contains(key) }

    /// Notes that retries which are not in memory are made due at `now` on disk. Returns whether there can be any.
    mutating func hasten(_ keys: Set<OutboxKey>, now: Timestamp) -> Bool {
        let place = RetryPlace(due: now, key: OutboxKey(rawValue: 0))
        if isReadingRetries {
            hastenedWhileReading.formUnion(keys)
            hastenedTo = place
            return true
        }
        guard horizon != nil else { return false }
        lowerHorizon(to: place)
        return true
    }

    func isHastened(_ key: OutboxKey) -> Bool { hastenedWhileReading.contains(key) }

    /// Notes that a delivery in memory has a due time on disk. Returns whether that is new.
    @discardableResult
    mutating func noteRetry(_ key: OutboxKey) -> Bool { retrying.insert(key).inserted }

    /// Notes that a delivery is no longer in memory.
    mutating func forgetRetry(_ key: OutboxKey) { retrying.remove(key) }

    /// Notes that a delivery has ended.
    mutating func end(_ stored: StoredDelivery) {
        guard stored.due != nil else { return }
        if isReadingRetries {
            endedWhileReading.append(stored.key)
        } else {
            retrying.remove(stored.key)
        }
    }
}
