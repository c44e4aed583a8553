import Notifications

/// What becomes of devices' paces in one transaction, which is the one that keeps the deliveries and their causes.
package struct PaceChanges: Sendable, Hashable {
    /// Devices that are registered no more: nothing of them stays. Applied first.
    package var forgotten: [DeviceID] = []
    /// Each in place of what was there.
    package var rows: [PaceRow] = []
    package var held: [HeldRow] = []
    /// Groups that wait no longer.
    package var released: [HeldKey] = []

    package init() {}

    package var isEmpty: Bool { forgotten.isEmpty && rows.isEmpty && held.isEmpty && released.isEmpty }
}
