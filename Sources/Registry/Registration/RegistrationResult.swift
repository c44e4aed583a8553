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
    /// This very event was taken before.
    case duplicate
    /// A newer event for the same slot, or for the same token, was taken before.
    case outdated
    /// Another kind, or meant for another router or for something else altogether: no concern of ours.
    case notForUs
    case refused(RegistrationRefusal)

    /// Whether something was written.
    package var isChange: Bool {
        switch self {
        case .registered, .updated, .deregistered, .waiting: true
        case .duplicate, .outdated, .notForUs, .refused: false
        }
    }

    /// Whether an `OK` answer (NIP-01) to the event should say true.
    package var isAccepted: Bool {
        switch self {
        case .registered, .updated, .deregistered, .waiting, .duplicate, .outdated: true
        case .notForUs, .refused: false
        }
    }

    /// The text of an `OK` answer.
    package var message: String {
        switch self {
        case .registered, .updated, .deregistered: ""
        case .waiting: "waiting for a kind 10050 of the root identity that lists this device key"
        case .duplicate: "duplicate: already have this registration"
        case .outdated: "duplicate: a newer registration is known"
        case .notForUs: "blocked: only push registrations for this router are taken"
        case .refused(let refusal): refusal.description
        }
    }
}
