import Nostr
import Notifications

/// A device as the registry tells an index of it.
package struct IndexedDevice: Hashable, Sendable {
    package var account: PublicKey
    package var device: DeviceID
    /// In milliseconds since 1970.
    package var firstRegisteredAt: Int64
    /// The bits of the well-known signals.
    package var signals: SignalSet
    /// The other signals it wants; which bits they have is up to the index.
    package var furtherSignals: [Signal]
    package var mode: Mode?
    /// What the owner reads; which of the rules' languages that comes to is up to the index.
    package var locale: LanguageTag?
    package var hasSealingKey = false
    package var route: Route
    package var routeID: RouteID
    package var wishes = DeviceWishes()
    /// Whether it was registered on another platform, for another app or with another token before.
    package var isElsewhere = false
}
