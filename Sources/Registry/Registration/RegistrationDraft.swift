import Nostr

/// A registration that was read and checked, and of which the store has to say what comes of it.
struct RegistrationDraft {
    var event: Event
    var slot: RegistrationSlot
    /// Whose device it is to be: the author's own, or its root identity's.
    var account: PublicKey
    var content: RegistrationContent
    /// When it came, in milliseconds since 1970.
    var arrivedAt: Int64

    var mark: SlotMark { SlotMark(event) }
    var isDelegated: Bool { slot.author != account }
}
