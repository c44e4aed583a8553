/// Whose word on a user's own relays counts.
package enum RelaySource: String, Sendable, Hashable, CaseIterable {
    /// The registration's, or else the read relays of the relay list (NIP-65); and the relays for private messages (NIP-17).
    case nip65
    /// Only the registration's.
    case registration
    /// Nobody's: users are watched at the operator's relays only.
    case none
}
