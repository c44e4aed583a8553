import CSecp256k1

extension Schnorr {
    /// Whether these are the 32 bytes of an x-only public key: the abscissa of a point on the curve (BIP-340).
    package static func isPublicKey(_ bytes: [UInt8]) -> Bool {
        var parsed = secp256k1_xonly_pubkey()
        return bytes.count == self.publicKeyByteCount && secp256k1_xonly_pubkey_parse(context, &parsed, bytes) == 1
    }
}
