import Core
import Nostr
import Push
import Synchronization

/// Stores the lists in which accounts and root identities name the relays they read (kind 10002, NIP-65) and their
/// devices and keys for messages (kind 10050).
///
/// Plain NIP-17 apps replace a root identity's kind 10050 without knowing about devices. The devices that an earlier
/// list named then count for a while longer, so that an app that knows devices can name them again.
///
/// A list without any `device` or `dm_key` tag has no effect on devices. A list dated in the future is refused, and an
/// older list is ignored. The first list of an unknown root is accepted until a newer one arrives.
final class IdentityLists: Sendable {
    /// How long devices count after the last list that named them.
    private static let gracePeriod: Duration = .days(7)
    /// The delay after a failure before the router looks for expired devices again.
    private static let pauseAfterFailure: Duration = .minutes(1)

    private let store: RegistryStore
    private let writer: RegistryWriter
    private let reader: RegistrationReader
    private let admission: DeviceRegistrar
    private let now: @Sendable () -> Timestamp
    /// When to look for devices that lists have not named for too long.
    private let graceEnd = Mutex(Timestamp.distantPast)

    init(
        store: RegistryStore,
        writer: RegistryWriter,
        reader: RegistrationReader,
        admission: DeviceRegistrar,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.writer = writer
        self.reader = reader
        self.admission = admission
        self.now = now
    }

    private var policy: RegistrationPolicy { reader.policy }

    /// Takes lists in order, in one transaction, and returns one result for each. Writes only if a list is new.
    func learn(_ events: [Event]) throws -> [ListResult] {
        let now = now()
        let weighed = try store.read { rows in try events.map { try weigh($0, now: now, rows) } }
        guard weighed.contains(nil) else { return weighed.compactMap { $0 } }
        return try writer.change { rows, changes in
            try zip(events, weighed).map { event, done in
                if let done { return done }
                // An earlier one of these may have been newer.
                if let done = try weigh(event, now: now, rows) { return done }
                try take(event, now: now, rows, &changes)
                return .learned
            }
        }
    }

    /// Returns the result for a list that need not be stored; nil if it must be stored.
    private func weigh(_ event: Event, now: Timestamp, _ rows: RegistryRows) throws -> ListResult? {
        guard event.kind == .relayList || event.kind == .deviceList else { return .ignored }
        guard try rows.concerns(event.pubkey) else { return .ignored }
        guard policy.isPlausible(event.createdAt, now: now) else {
            return .refused(
                .invalid("created_at: expected at most \(policy.limits.futureTolerance.seconds) seconds ahead of now")
            )
        }
        guard let known = try rows.mark(of: event.kind, by: event.pubkey) else { return nil }
        let mark = SlotMark(event)
        if mark == known { return .duplicate }
        return mark.replaces(known) ? nil : .outdated
    }

    private func take(
        _ event: Event,
        now: Timestamp,
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
            // Late keys must not get a place after a restart, because the order of arrival is no longer known then.
            try ring.keys.contains { $0.key == key }
                || rows.ownerCount(ofMessageKey: key, besides: event.pubkey, now: now) < MessageKeyOwners.ownersPerKey
        }
        ring.replace(with: messageKeys, at: Timestamp(seconds: event.createdAt), now: now)
        try rows.putMessageKeys(ring.keys, of: event.pubkey)
        changes.index.append(.messageKeys(ring.keys, of: event.pubkey))
        guard list.speaksOfDevices else {
            let end = Timestamp(seconds: former?.createdAt ?? event.createdAt) + Self.gracePeriod
            try rows.expire(devicesOf: event.pubkey, at: end)
            return graceEnd.withLock { $0 = min($0, end) }
        }
        try recognise(Set(list.devices.prefix(ListLimits.devices)), as: event.pubkey, now: now, rows, &changes)
    }

    /// Makes `devices` the only devices that may speak for `root`.
    private func recognise(
        _ devices: Set<PublicKey>,
        as root: PublicKey,
        now: Timestamp,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws {
        try rows.putListedDevices(devices, of: root)
        for device in try rows.delegatedDevices(of: root) where !devices.contains(device.slot.author) {
            try rows.revoke(device, limits: policy.limits, &changes)
        }
        for waiting in try rows.waiting(for: root) {
            guard let event = try? Event(json: Array(waiting.json.utf8)) else {
                throw RegistryStoreError.unreadableEvent
            }
            guard devices.contains(event.pubkey),
                let draft = reader.draft(ofWaiting: event, arrivedAt: waiting.arrivedAt)
            else { continue }
            _ = try admission.admit(draft, wasWaiting: true, now: now, rows, &changes)
        }
    }

    /// Removes devices that their root identity's lists have not named for too long. Their registrations wait again.
    /// Cheap if there are none.
    func endGrace() {
        let now = now()
        guard graceEnd.withLock({ $0 <= now }) else { return }
        do {
            let next = try writer.change { rows, changes in
                for (root, key) in try rows.takeLapsedDevices(at: now) {
                    for device in try rows.delegatedDevices(of: root) where device.slot.author == key {
                        try rows.revoke(device, limits: policy.limits, &changes)
                    }
                }
                return try rows.nextEndOfGrace()
            }
            graceEnd.withLock { $0 = next }
        } catch {
            // Until then these devices do not speak for their root.
            graceEnd.withLock { $0 = now + Self.pauseAfterFailure }
        }
    }
}

/// Limits for list content, because authors may put any amount into a list.
enum ListLimits {
    static let devices = 256
    static let relays = 16
    static let relay = 512

    /// Returns the first URLs up to the limit, each once.
    static func relays(_ urls: [String]) -> [String] {
        var taken: [String] = []
        for url in urls where taken.count < relays && !taken.contains(url) {
            if url.isURL(of: ["wss", "ws"], limit: relay) { taken.append(url) }
        }
        return taken
    }
}

/// The result of taking an author's list (kind 10002 or 10050).
package enum ListResult: Hashable, Sendable {
    /// It is now the newest known list.
    case learned
    /// This very list was learned before.
    case duplicate
    /// A newer one of the same author is known.
    case outdated
    /// Another kind, or from an author unrelated to any account here.
    case ignored
    case refused(RegistrationError)
}
