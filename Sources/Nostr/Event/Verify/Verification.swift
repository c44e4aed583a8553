/// Whether an event is what its author signed (NIP-01).
package enum Verification: Hashable, Sendable {
    case valid
    /// The id is not the SHA-256 of the event.
    case wrongID
    /// The signature is not one of the id by the pubkey (BIP-340).
    case wrongSignature
}
