import Notifications

/// A device that has the token of a registration in hand, in another slot.
package struct TokenHolder: Hashable, Sendable {
    package var device: DeviceID
    package var slot: RegistrationSlot
    package var mark: SlotMark

    package init(device: DeviceID, slot: RegistrationSlot, mark: SlotMark) {
        self.device = device
        self.slot = slot
        self.mark = mark
    }
}
