import Nostr
import Notifications

/// What the `devices` table says of a device; nothing here is secret.
struct DeviceRow: Hashable {
    var slot: RegistrationSlot
    var account: PublicKey
    var mark: SlotMark
    /// When it was registered with this event, in milliseconds since 1970.
    var registeredAt: Int64
    var route: RouteID
    var mode: Mode?
    var signals: SignalSet
    var furtherSignals: [Signal]
    var locale: LanguageTag?
    /// Whether the registration named a key that is for sealing and nothing else.
    var hasSealingKey: Bool
}
