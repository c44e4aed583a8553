import Core
import Nostr
import Push

/// The identity of a registration: the key that signed it, and a device id under that key. A new registration replaces
/// the one in the same slot.
///
/// Kinds 10062 and 30062 with the same `d` share one slot. The registration names the account of the device: the
/// author, or a root identity that lists the author as a device. So only the author can empty a slot.
package struct RegistrationSlot: Hashable, Sendable {
    /// The maximum length of a device id in bytes, all of them A-Z a-z 0-9 . _ -
    package static let deviceIDLimit = 64

    package var author: PublicKey
    /// The part of `d` after the router's public key and a colon. May be empty.
    package var deviceID: String

    package init(author: PublicKey, deviceID: String = "") {
        self.author = author
        self.deviceID = deviceID
    }
}

/// The newest event that a slot has seen. Kept after a deregistration, so that no older copy restores the device.
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
struct RegisteredDevice: Hashable, Sendable {
    var device: DeviceID
    var slot: RegistrationSlot
    /// The account that the device belongs to.
    var account: PublicKey
    var mark: SlotMark
    /// When the event was dated, or when it arrived if it was dated ahead.
    var registeredAt: Timestamp = .distantFuture

    /// Since when it has its token, in seconds since 1970. Dating a registration ahead does not change that.
    var claimedAt: Int64 { min(mark.createdAt, registeredAt.seconds) }
}

/// A registration that was read and checked, before the store decides about it.
struct RegistrationDraft {
    var event: Event
    var slot: RegistrationSlot
    /// The account that gets the device: the author, or its root identity.
    var account: PublicKey
    var content: RegistrationContent
    /// The number of the router's key that it names.
    var routerKey: Int
    /// When it arrived.
    var arrivedAt: Timestamp

    var mark: SlotMark { SlotMark(event) }
    var isDelegated: Bool { slot.author != account }
}
