import Nostr

/// A key that an account receives gift wraps under besides its own (`dm_key` in its kind 10050).
package struct MessageKey: Hashable, Sendable {
    package var key: PublicKey
    /// Until when a former key counts, in milliseconds since 1970; nil for a key of the newest list.
    package var until: Int64?

    package init(key: PublicKey, until: Int64? = nil) {
        self.key = key
        self.until = until
    }
}
