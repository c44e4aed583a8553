/// What the registry said to a registration that came through a session.
package enum RegistrationAnswer: Hashable, Sendable {
    case accepted
    /// With the text an `OK` answer would have (NIP-01).
    case refused(String)
}
