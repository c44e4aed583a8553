/// Why a registration was not taken, in the words of a Nostr `OK` answer (NIP-01). Names fields and what was expected
/// of them, never a token, key or endpoint.
package struct RegistrationRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: String {
        case invalid
        case unsupported
        case blocked
        case rateLimited = "rate-limited"
    }

    private let code: Code
    /// What is wrong, without the prefix.
    package let reason: String

    private init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The registration breaks a rule: sending it again unchanged will not help.
    package static func invalid(_ reason: String) -> RegistrationRefusal {
        RegistrationRefusal(.invalid, reason)
    }

    /// The registration is well formed and asks for what this router does not do.
    package static func unsupported(_ reason: String) -> RegistrationRefusal {
        RegistrationRefusal(.unsupported, reason)
    }

    /// The registration is well formed and a limit stands against it.
    package static func blocked(_ reason: String) -> RegistrationRefusal {
        RegistrationRefusal(.blocked, reason)
    }

    /// The registration is well formed, and there were too many before it.
    package static func rateLimited(_ reason: String) -> RegistrationRefusal {
        RegistrationRefusal(.rateLimited, reason)
    }

    /// Whether the registration itself is at fault.
    var isInvalid: Bool { code == .invalid }

    /// A field of the content that is not what it should be.
    static func field(_ path: String, expected: String) -> RegistrationRefusal {
        .invalid("registration field `\(path)`: expected \(expected)")
    }

    /// The text for an `OK` answer: a machine-readable prefix, a colon, and the reason.
    package var description: String { "\(code.rawValue): \(reason)" }
}
