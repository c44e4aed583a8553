/// What is known of a slot and an account before an event for them is judged.
package struct AccountState: Hashable, Sendable {
    /// The newest event that the slot has seen.
    package var mark: SlotMark?
    /// Whether the slot holds a device now.
    package var isRegistered: Bool
    /// Whether the event of ``mark`` left the slot empty: nothing that it registered is in force.
    package var isEnded: Bool
    /// How many devices the account has, this slot's included if it is the account's.
    package var devices: Int
    /// What a slot without a mark must be newer than, in seconds since 1970: when an author has more marks of former
    /// devices than are kept, the oldest ones are folded into this.
    package var floor: Int64?

    package init(
        mark: SlotMark? = nil,
        isRegistered: Bool = false,
        isEnded: Bool = false,
        devices: Int = 0,
        floor: Int64? = nil
    ) {
        self.mark = mark
        self.isRegistered = isRegistered
        self.isEnded = isEnded
        self.devices = devices
        self.floor = floor
    }
}
