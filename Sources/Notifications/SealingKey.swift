/// What a sealed notification is encrypted to: a key that a registration brought, or the one that signed it.
package enum SealingKey: Hashable, Sendable {
    /// An x-only key on secp256k1, 32 bytes (NIP-44).
    case nip44([UInt8])
    /// The keys of a subscription as it spells them (RFC 8291).
    case webPush(p256dh: String, auth: String)
}
