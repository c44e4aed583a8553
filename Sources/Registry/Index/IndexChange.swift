import Nostr
import Notifications

/// What the owner of a ``MatchIndex`` has to do to it after the registry changed.
package enum IndexChange: Hashable, Sendable {
    case put(IndexedDevice)
    case remove(DeviceID, of: PublicKey)
}
