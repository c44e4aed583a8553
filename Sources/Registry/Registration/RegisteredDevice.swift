import Nostr
import Notifications

/// A device in its slot.
package struct RegisteredDevice: Hashable, Sendable {
    package var device: DeviceID
    package var slot: RegistrationSlot
    /// Whose device it is.
    package var account: PublicKey
    package var mark: SlotMark
    /// Its own date, or when it came if it was dated ahead, in milliseconds since 1970.
    package var registeredAt: Int64

    package init(
        device: DeviceID,
        slot: RegistrationSlot,
        account: PublicKey,
        mark: SlotMark,
        registeredAt: Int64 = .max
    ) {
        self.device = device
        self.slot = slot
        self.account = account
        self.mark = mark
        self.registeredAt = registeredAt
    }

    /// Since when it has its token, in seconds since 1970: nobody holds one longer for dating a registration ahead.
    var claimedAt: Int64 { min(mark.createdAt, registeredAt / 1000) }
}
