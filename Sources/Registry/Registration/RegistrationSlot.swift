import Nostr

/// What one registration replaces another of: an account, and a device id under it.
///
/// Kinds 10062 and 30062 with the same `d` share one slot.
package struct RegistrationSlot: Hashable, Sendable {
    /// Device ids are at most this many bytes of A-Z a-z 0-9 . _ -
    package static let deviceIDLimit = 64

    package var account: PublicKey
    /// What follows our public key and a colon in `d`; empty when nothing does.
    package var deviceID: String

    package init(account: PublicKey, deviceID: String = "") {
        self.account = account
        self.deviceID = deviceID
    }
}
