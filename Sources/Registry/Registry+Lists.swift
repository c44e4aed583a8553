import Nostr
import Notifications
import Synchronization

extension Registry {
    /// Takes the newest list of relays (kind 10002, NIP-65) or of devices and message relays (kind 10050) of an account or of
    /// a root identity that an account has to do with. Its signature must have been verified.
    package func learn(_ event: Event) throws -> Learned {
        try learn([event]).first ?? .ignored
    }

    /// Takes lists in their order, in one transaction, or none if nothing in them is new. Answers with as many results.
    package func learn(_ events: [Event]) throws -> [Learned] {
        let now = now()
        let weighed = try store.read { rows in try events.map { try weigh($0, now: now, rows) } }
        guard weighed.contains(nil) else { return weighed.compactMap { $0 } }
        return try change { rows, changes in
            try zip(events, weighed).map { event, done in
                if let done { return done }
                // An earlier one of these may have been newer.
                if let done = try weigh(event, now: now, rows) { return done }
                try take(event, now: now, rows, &changes)
                return .learned
            }
        }
    }

    /// Nil: it is to be taken.
    private func weigh(_ event: Event, now: Int64, _ rows: RegistryRows) throws -> Learned? {
        guard event.kind == .relayList || event.kind == .deviceList else { return .ignored }
        guard try rows.concerns(event.pubkey) else { return .ignored }
        // One from the future would stand against every later one until then.
        guard event.createdAt >= 0, event.createdAt <= now / 1000 + desk.limits.secondsAhead else {
            return .refused(.invalid("created_at: expected at most \(desk.limits.secondsAhead) seconds ahead of now"))
        }
        guard let known = try rows.mark(of: event.kind, by: event.pubkey) else { return nil }
        let mark = SlotMark(event)
        if mark == known { return .duplicate }
        return mark.replaces(known) ? nil : .outdated
    }

    private func take(
        _ event: Event,
        now: Int64,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws {
        changes.keys.insert(event.pubkey)
        let list = DeviceList(event)
        let isDeviceList = event.kind == .deviceList
        let relays = ListLimits.relays(isDeviceList ? list.relays : RelayList(event).read)
        let former = try rows.mark(of: event.kind, by: event.pubkey)
        try rows.putList(event.kind, by: event.pubkey, SlotMark(event), relays: relays, now: now)
        guard isDeviceList else { return }
        var ring = MessageKeyRing(try rows.messageKeys(of: event.pubkey))
        let messageKeys = try list.messageKeys.filter { $0 != event.pubkey }.prefix(MessageKeyRing.limit).filter {
            key in
            // Whoever comes too late must not get a place by a restart, after which nobody knows who was first.
            try ring.keys.contains { $0.key == key }
                || rows.ownerCount(ofMessageKey: key, besides: event.pubkey, now: now) < MessageKeyOwners.ownersPerKey
        }
        ring.replace(with: messageKeys, at: event.createdAt * 1000, now: now)
        try rows.putMessageKeys(ring.keys, of: event.pubkey)
        changes.index.append(.messageKeys(ring.keys, of: event.pubkey))
        guard list.speaksOfDevices else {
            let end = (former?.createdAt ?? event.createdAt) * 1000 + DeviceGrace.period
            try rows.letLapse(devicesOf: event.pubkey, at: end)
            return graceEnd.withLock { $0 = min($0, end) }
        }
        try recognise(Set(list.devices.prefix(ListLimits.devices)), as: event.pubkey, now: now, rows, &changes)
    }

    /// From now on these devices, and no others, speak for `root`.
    private func recognise(
        _ devices: Set<PublicKey>,
        as root: PublicKey,
        now: Int64,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws {
        try rows.putListedDevices(devices, of: root)
        for device in try rows.delegatedDevices(of: root) where !devices.contains(device.slot.author) {
            try rows.revoke(device, limits: desk.limits, &changes)
        }
        for waiting in try rows.waiting(for: root) {
            guard let event = try? Event(json: Array(waiting.json.utf8)) else {
                throw RegistryStoreError.unreadableEvent
            }
            guard devices.contains(event.pubkey), let draft = draft(of: event, arrivedAt: waiting.arrivedAt) else {
                continue
            }
            _ = try admit(draft, wasWaiting: true, now: now, rows, &changes)
        }
    }

    /// Nil when no transport serves it any more: it goes on waiting, since that may change.
    private func draft(of event: Event, arrivedAt: Int64) -> RegistrationDraft? {
        guard case .register(let slot, let account)? = try? desk.request(of: event) else { return nil }
        return try? draft(of: event, slot, account, arrivedAt: arrivedAt)
    }
}
