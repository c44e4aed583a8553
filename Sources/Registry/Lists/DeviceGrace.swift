import Nostr
import Notifications
import Synchronization

/// Plain NIP-17 apps write a root identity's kind 10050 anew and know nothing of devices. Those that an earlier list
/// named count for a while yet, so that an app that does know has time to name them again.
enum DeviceGrace {
    /// How long after the last list that named them devices count, in milliseconds.
    static let period: Int64 = 7 * 86_400_000
    /// How long after a failure devices whose time is over are looked for again, in milliseconds.
    static let pauseAfterFailure: Int64 = 60_000
}

/// A registration that has no effect until its root identity's kind 10050 names the key that signed it.
package struct WaitingRegistration: Hashable, Sendable {
    package var slot: RegistrationSlot
    package var root: PublicKey
    /// When its author dated it, in seconds since 1970.
    package var createdAt: Int64
}

extension Registry {
    /// What waits for a root identity, or for any; the first ones to come first.
    package func waitingRegistrations(for root: PublicKey? = nil, limit: Int = 1000) throws -> [WaitingRegistration] {
        try store.readOnce { try $0.waitingRegistrations(for: root, limit: limit) }
    }

    /// Sends devices back to waiting whose root identity's lists have named them no more for too long. Cheap when there
    /// are none.
    func endDeviceGrace() {
        let now = now()
        guard graceEnd.withLock({ $0 <= now }) else { return }
        do {
            let next = try change { rows, changes in
                for (root, key) in try rows.takeLapsedDevices(at: now) {
                    for device in try rows.delegatedDevices(of: root) where device.slot.author == key {
                        try rows.revoke(device, limits: desk.limits, &changes)
                    }
                }
                return try rows.nextEndOfGrace()
            }
            graceEnd.withLock { $0 = next }
        } catch {
            // Until then they count for nobody who asks whether they speak for their root.
            graceEnd.withLock { $0 = now + DeviceGrace.pauseAfterFailure }
        }
    }
}
