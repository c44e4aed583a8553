/// How an event of a relay came to be read, as far as that says whether it is news.
package enum Reading: Sendable, Hashable {
    /// After the end of the stored events (NIP-01).
    case live
    /// Stored, and published while nobody listened: news as well.
    case stored
    /// Stored before the key was watched here: no news, to be remembered only.
    case baseline
    /// Asked for by ``RelayPool/fetch(_:from:within:completion:)``: no news.
    case fetched
}
