/// How much a feed keeps in memory, and how it waits.
package struct FeedLimits: Sendable {
    /// Bytes of a line; what is longer is refused.
    package var lineBytes = 1 << 20
    /// Events that are handed over and not yet answered, from which number on nothing is read.
    package var outstandingEvents = 10_000
    /// The same in bytes.
    package var outstandingBytes = 32 << 20
    /// Bytes read at once.
    package var chunkBytes = 256 << 10
    /// Milliseconds until what could not be dealt with is handed over again, at first and at most. Doubles each time.
    package var retryDelays: ClosedRange<Int64> = 100...5_000
    /// Milliseconds from one complaint in the log to the next.
    package var complaintInterval: Int64 = 10_000

    package init() {}
}
