import Notifications

/// What became of a registration event.
package enum RegistrationResult: Hashable, Sendable {
    case registered(DeviceID)
    /// The slot was taken already: the same device has a new address or new wishes.
    case updated(DeviceID)
    case deregistered
    /// This very event was taken before.
    case duplicate
    /// A newer event for the same slot, or for the same token, was taken before.
    case outdated
    /// Another kind, or meant for another router or for something else altogether: no concern of ours.
    case notForUs
    case refused(RegistrationRefusal)

    /// Whether an `OK` answer (NIP-01) to the event should say true.
    package var isAccepted: Bool {
        switch self {
        case .registered, .updated, .deregistered, .duplicate, .outdated: true
        case .notForUs, .refused: false
        }
    }

    /// The text of an `OK` answer.
    package var message: String {
        switch self {
        case .registered, .updated, .deregistered: ""
        case .duplicate: "duplicate: already have this registration"
        case .outdated: "duplicate: a newer registration is known"
        case .notForUs: "blocked: only push registrations for this router are taken"
        case .refused(let refusal): refusal.description
        }
    }
}
