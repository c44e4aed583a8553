/// What an ``OutboxWriter`` has still to do, and when.
struct PendingWrites: Sendable {
    private(set) var changes = OutboxChanges()
    private(set) var reads: [OutboxRead] = []
    private(set) var flushes: [@Sendable () -> Void] = []
    private var failures = 0
    private var retryAt: Int64?

    private static let firstWait: Int64 = 100
    private static let longestWait: Int64 = 10_000

    mutating func add(_ message: OutboxWriter.Message) {
        switch message {
        case .changes(let later): changes.append(later)
        case .read(let read): reads.append(read)
        case .flush(let done): flushes.append(done)
        case .retry: retryAt = nil
        }
    }

    /// Whether to leave the disk alone for now.
    var isWaiting: Bool { retryAt != nil }

    /// Whether there are changes that the disk refused.
    private(set) var isUnwritten = false

    /// All changes are on disk; true when the disk had refused them before.
    mutating func written() -> Bool {
        changes = OutboxChanges()
        failures = 0
        defer { isUnwritten = false }
        return isUnwritten
    }

    mutating func takeReads() -> [OutboxRead] {
        defer { reads = [] }
        return reads
    }

    mutating func takeFlushes() -> [@Sendable () -> Void] {
        defer { flushes = [] }
        return flushes
    }

    /// The disk refused; returns when to try again, in milliseconds since 1970. `unread` is what was not read.
    mutating func failed(now: Int64, unread: [OutboxRead]) -> Int64 {
        reads = unread + reads
        let wait = min(Self.firstWait << Int64(min(failures, 16)), Self.longestWait)
        failures += 1
        isUnwritten = !changes.isEmpty
        retryAt = now + wait
        return now + wait
    }
}
