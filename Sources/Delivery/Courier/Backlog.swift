/// What of a queue is in memory and what only on disk.
///
/// First tries come into memory in order, so one key divides them. Retries come by due time: all before `horizon` are in
/// memory, all from there on are only on disk. While a page of retries is being read nothing moves from memory to disk.
struct Backlog: Sendable {
    /// The last first try that is or was in memory.
    private(set) var taken: OutboxKey
    /// The last delivery known to be accepted.
    private(set) var told: OutboxKey
    /// While a page of first tries is being read: `told` when it was asked for.
    private(set) var readingUpTo: OutboxKey?
    private(set) var horizon: RetryPlace?
    private(set) var isReadingRetries = false

    /// A queue of which nothing is on disk.
    init(newQueue number: Int) {
        taken = .lowest(of: number)
        told = taken
    }

    /// A queue that was found on disk, up to `last`.
    init(storedQueue number: Int, last: OutboxKey) {
        taken = .lowest(of: number)
        told = last
        horizon = RetryPlace(due: .min, key: taken)
    }

    /// Whether first tries wait only on disk.
    var isBehind: Bool { told > taken }

    var isReadingFirstTries: Bool { readingUpTo != nil }

    /// Whether a delivery of that key has not been read from disk, and may come into memory now because nothing before it
    /// waits on disk.
    mutating func accept(_ key: OutboxKey, hasRoom: Bool) -> Bool {
        guard key > taken else { return false }
        let isNext = !isBehind
        told = max(told, key)
        guard isNext, hasRoom else { return false }
        taken = key
        return true
    }

    mutating func leave(upTo key: OutboxKey) { told = max(told, key) }

    mutating func beginReadingFirstTries() { readingUpTo = told }

    /// Whether that row of a page is new.
    mutating func take(_ key: OutboxKey) -> Bool {
        guard key > taken else { return false }
        taken = key
        told = max(told, key)
        return true
    }

    mutating func endReadingFirstTries(isLast: Bool) {
        if isLast, let readingUpTo { taken = max(taken, readingUpTo) }
        readingUpTo = nil
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
    }
}
