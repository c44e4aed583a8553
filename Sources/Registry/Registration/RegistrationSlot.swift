import Nostr
import Notifications

/// What one registration replaces another of: who signed it, and a device id under that key.
///
/// Kinds 10062 and 30062 with the same `d` share one slot. Whose account it is that the slot's device belongs to is said
/// by the registration in it: the author's own, or that of a root identity the author is a device of. So nobody but the
/// author can take what is in a slot away.
package struct RegistrationSlot: Hashable, Sendable {
    /// Device ids are at most this many bytes of A-Z a-z 0-9 . _ -
    package static let deviceIDLimit = 64

    package var author: PublicKey
    /// What follows our public key and a colon in `d`; empty when nothing does.
    package var deviceID: String

    package init(author: PublicKey, deviceID: String = "") {
        self.author = author
        self.deviceID = deviceID
    }
}

/// The newest event that a slot has seen, which stays after a deregistration so that no older copy revives it.
package struct SlotMark: Hashable, Sendable {
    /// In seconds since 1970.
    package var createdAt: Int64
    package var id: EventID

    package init(createdAt: Int64, id: EventID) {
        self.createdAt = createdAt
        self.id = id
    }

    package init(_ event: Event) {
        self.init(createdAt: event.createdAt, id: event.id)
    }

    /// Whether an event with this mark takes the place of one with `other` (NIP-01): the later one, and of two with the
    /// same time the one with the lower id.
    package func replaces(_ other: SlotMark) -> Bool {
        if createdAt != other.createdAt { return createdAt > other.createdAt }
        return id < other.id
    }
}

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
