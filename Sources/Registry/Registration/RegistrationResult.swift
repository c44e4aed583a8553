import Notifications

/// What became of a registration event.
package enum RegistrationResult: Hashable, Sendable {
    case registered(DeviceID)
    /// The slot was taken already: the same device has a new address or new wishes.
    case updated(DeviceID)
    case deregistered
    /// Signed by a device key of which its root identity has not said yet that it is one (kind 10050): kept, and without
    /// any effect until then.
    case waiting
    /// This very event was taken before, and what it says is in force.
    case duplicate
    /// This very event was taken before, and what it registered has ended since.
    case ended
    /// A newer event for the same slot was taken before.
    case outdated
    /// Another registration of the same push target is dated later, and keeps it.
    case superseded
    /// Another kind, or meant for another router or for something else altogether: no concern of ours.
    case notForUs
    case refused(RegistrationRefusal)

    /// Whether something was written.
    package var isChange: Bool {
        switch self {
        case .registered, .updated, .deregistered, .waiting: true
        case .duplicate, .ended, .outdated, .superseded, .notForUs, .refused: false
        }
    }

    /// Whether an `OK` answer (NIP-01) to the event should say true: what it asks for is in force, or waits for its
    /// root identity.
    package var isAccepted: Bool {
        switch self {
        case .registered, .updated, .deregistered, .waiting, .duplicate: true
        case .ended, .outdated, .superseded, .notForUs, .refused: false
        }
    }

    /// The text of an `OK` answer.
    package var message: String {
        switch self {
        case .registered, .updated, .deregistered: ""
        case .waiting: "waiting for a kind 10050 of the root identity that lists this device key"
        case .duplicate: "duplicate: already have this registration"
        case .ended: "invalid: this registration is no longer in force: sign a new one with a later created_at"
        case .outdated:
            "invalid: created_at: a registration with this d is known that replaces this one: sign it again with a later "
                + "created_at"
        case .superseded:
            "blocked: the push target has a registration of a later date: sign this one again with the present time"
        case .notForUs: "blocked: only push registrations for this router are taken"
        case .refused(let refusal): refusal.description
        }
    }
}
