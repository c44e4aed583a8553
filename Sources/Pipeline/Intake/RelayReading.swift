/// How an event of a relay came to be read, as far as that says whether it is news.
package enum RelayReading: Sendable, Hashable {
    /// After the end of the stored events (NIP-01).
    case live
    /// Stored, and published while nobody listened: news as well. Comes in any order.
    case stored
    /// Stored before the key was watched there: no news, to be remembered only.
    case baseline
    /// Asked for by a ``ContextFetcher``: no news, to be learned from only.
    case fetched
}
