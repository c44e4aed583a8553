import Nostr
import Notifications

/// What an operator may see of a device: nothing by which it could be pushed to.
package struct DeviceListing: Hashable, Sendable {
    package var device: DeviceID
    package var slot: RegistrationSlot
    /// Whose device it is.
    package var account: PublicKey
    package var route: Route
    package var mode: Mode?
    /// What it wants to be woken for, the well-known ones first.
    package var signals: [Signal]
    /// When the owner dated the registration, in seconds since 1970.
    package var createdAt: Int64
    /// In milliseconds since 1970.
    package var registeredAt: Int64
    /// The same of its first registration.
    package var firstRegisteredAt: Int64
    /// Until when the device counts, in milliseconds since 1970, since the newest kind 10050 of its account says
    /// nothing of devices; nil where it names the device, or the account registered it itself.
    package var countsUntil: Int64?
    /// Whether its target is another account's, so that nothing goes there on its behalf.
    package var waitsForCode: Bool
}
