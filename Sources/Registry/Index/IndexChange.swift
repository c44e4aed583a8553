import Nostr
import Notifications

/// What the owner of a ``MatchIndex`` has to do to it after the registry changed.
package enum IndexChange: Hashable, Sendable {
    case put(IndexedDevice)
    case remove(DeviceID, of: PublicKey)
    /// These keys, and no others besides its own, are the account's to receive messages under.
    case messageKeys([MessageKey], of: PublicKey)
}
