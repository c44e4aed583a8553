import Nostr

/// A change to what is watched at one relay.
package enum WatchChange: Sendable, Hashable {
    /// Watches a key, or watches it differently from now on.
    case put(Watched)
    case remove(PublicKey)
}
