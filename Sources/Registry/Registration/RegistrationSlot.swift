import Nostr

/// What one registration replaces another of: who signed it, and a device id under that key.
///
/// Kinds 10062 and 30062 with the same `d` share one slot. Whose account it is that the slot's device belongs to is said
/// by the registration in it: the author's own, or that of a root identity the author is a device of. So nobody but the
/// author can take what is in a slot away.
package struct RegistrationSlot: Hashable, Sendable {
    /// Device ids are at most this many bytes of A-Z a-z 0-9 . _ -
    package static let deviceIDLimit = 64

    package var author: PublicKey
    /// What follows our public key and a colon in `d`; empty when nothing does.
    package var deviceID: String

    package init(author: PublicKey, deviceID: String = "") {
        self.author = author
        self.deviceID = deviceID
    }
}
