/// What came of a feed so far.
package struct FeedCounts: Sendable, Hashable {
    package var lines = 0
    /// Events that were dealt with.
    package var taken = 0
    /// Lines that held no event, or one that was refused.
    package var refused = 0
    /// Messages that carry no event, and empty lines.
    package var passedOver = 0
}
