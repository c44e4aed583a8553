import Nostr
import Push

/// The result of a registration event.
package enum RegistrationResult: Hashable, Sendable {
    case registered(DeviceID)
    /// The slot was already in use: the same device has a new address or new preferences.
    case updated(DeviceID)
    case deregistered
    /// A deregistration under a key of this router other than the device's current one: that key has no registration,
    /// and the device stays.
    case moved
    /// Signed by a device key that its root identity does not list yet (kind 10050). Stored without effect until then:
    /// no token moves, the device does not count, and the root gets no tombstone.
    case waiting
    /// The same event was accepted before, and its content is current.
    case duplicate
    /// The same event was accepted before, and its registration has ended since.
    case ended
    /// A newer event for the same slot was taken before.
    case outdated
    /// Another registration of the same push target is dated later, and keeps it.
    case superseded
    /// Another kind, or addressed to another router.
    case notForUs
    case refused(RegistrationError)

    /// Whether the store was changed.
    package var isChange: Bool {
        switch self {
        case .registered, .updated, .deregistered, .waiting: true
        case .moved, .duplicate, .ended, .outdated, .superseded, .notForUs, .refused: false
        }
    }

    /// Whether the `OK` response (NIP-01) is true: the request is applied or waits for its root identity.
    package var isAccepted: Bool {
        switch self {
        case .registered, .updated, .deregistered, .moved, .waiting, .duplicate: true
        case .ended, .outdated, .superseded, .notForUs, .refused: false
        }
    }

    /// The message of the `OK` response.
    package var message: String {
        switch self {
        case .registered, .updated, .deregistered: ""
        case .moved: "duplicate: this device is registered to another key of this router, and stays so"
        case .waiting: "waiting for a kind 10050 of the root identity that lists this device key"
        case .duplicate: "duplicate: already have this registration"
        case .ended: "invalid: this registration is no longer active: sign a new one with a later created_at"
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

/// The reason why a registration was refused, as the text of a Nostr `OK` response (NIP-01). Names fields and expected
/// values, never a token, key or endpoint.
package struct RegistrationError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: String {
        case error
        case invalid
        case unsupported
        case blocked
        case rateLimited = "rate-limited"
    }

    private let code: Code
    /// The reason without the prefix.
    package let reason: String

    private init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The registration could not be checked: sending it again later may help.
    package static func failed(_ reason: String) -> RegistrationError {
        RegistrationError(.error, "\(reason); try again later")
    }

    /// The registration breaks a rule: sending it again unchanged will not help.
    package static func invalid(_ reason: String) -> RegistrationError {
        RegistrationError(.invalid, reason)
    }

    /// A well-formed registration that requests something this router does not support.
    package static func unsupported(_ reason: String) -> RegistrationError {
        RegistrationError(.unsupported, reason)
    }

    /// A well-formed registration that exceeds a limit.
    package static func blocked(_ reason: String) -> RegistrationError {
        RegistrationError(.blocked, reason)
    }

    /// A well-formed registration that exceeds a rate limit.
    package static func rateLimited(_ reason: String) -> RegistrationError {
        RegistrationError(.rateLimited, reason)
    }

    /// The registration names a retired key of the router.
    static func retiredKey(_ keys: RouterKeyNames) -> RegistrationError {
        .invalid("tag d: this router's key is another one now: register with \(keys.current.key.hex)")
    }

    /// Whether the same registration may be accepted later.
    var isTemporary: Bool { code == .error }

    /// Whether the registration itself is invalid.
    var isInvalid: Bool { code == .invalid }

    /// An invalid field of the content.
    static func field(_ path: String, expected: String) -> RegistrationError {
        .invalid("registration field `\(path)`: expected \(expected)")
    }

    /// The message of an `OK` response: a machine-readable prefix, a colon, and the reason.
    package var description: String { "\(code.rawValue): \(reason)" }
}
