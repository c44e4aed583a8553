import Nostr
import Notifications

extension Registry {
    /// Devices in the order of their numbers, at most `limit` of them, beginning behind `previous`; `account` narrows
    /// them down to one account's.
    package func devices(
        of account: PublicKey? = nil,
        after previous: DeviceID? = nil,
        limit: Int = 1000
    ) throws -> [DeviceListing] {
        try store.read { try $0.listing(of: account, after: previous ?? DeviceID(rawValue: 0), limit: limit) }
    }

    /// Nil when it is registered no more.
    package func listing(of device: DeviceID) throws -> DeviceListing? {
        let previous = DeviceID(rawValue: device.rawValue - 1)
        return try devices(after: previous, limit: 1).first { $0.device == device }
    }

    /// What a device wishes of pace and filters; nil when it is registered no more.
    package func wishes(of device: DeviceID) throws -> DeviceWishes? {
        guard let sealed = try store.readOnce({ try $0.sealedWishes(of: device) }) else { return nil }
        return sealed.isEmpty ? DeviceWishes() : try vault.openWishes(sealed, of: device, zones)
    }

    /// Forgets a device as its operator wishes. The event that registered it does not bring it back; a later one does. Returns false
    /// when there is none.
    @discardableResult
    package func remove(_ device: DeviceID) throws -> Bool {
        try change { rows, changes in
            guard let registered = try rows.device(device) else { return false }
            try rows.evict(registered, &changes)
            return true
        }
    }

    /// The events kept of `author`: the registrations in force and the deregistrations of an account, or what
    /// ``keep(_:)`` was given of the router's own.
    package func storedEvents(of author: PublicKey) throws -> [Event] {
        let texts = try store.readOnce { try $0.events(of: author) }
        return try texts.map { text in
            do {
                return try Event(json: Array(text.utf8))
            } catch {
                throw RegistryStoreError.unreadableEvent
            }
        }
    }

    /// Keeps an event of the router's own, such as its advertisement (kind 10067), in place of an earlier one of its
    /// kind. Returns false, and keeps the one there was, if that is newer.
    @discardableResult
    package func keep(_ event: Event) throws -> Bool {
        try store.write { rows in
            for text in try rows.events(of: event.pubkey) {
                if let other = try? Event(json: Array(text.utf8)), other.kind == event.kind,
                    SlotMark(other).replaces(SlotMark(event))
                {
                    return false
                }
            }
            try rows.putEvent(event)
            return true
        }
    }
}
