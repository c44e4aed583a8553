import CSecp256k1

/// Verification of signatures of BIP-340.
package enum Schnorr {
    /// The length of a signature in bytes.
    package static let signatureByteCount = 64
    /// The length of an x-only public key in bytes.
    package static let publicKeyByteCount = 32

    /// Whether `signature` (64 bytes) was made over `message`, of any length, by the owner of the x-only `publicKey`
    /// (32 bytes). Anything malformed is not valid.
    package static func isValid(signature: [UInt8], message: [UInt8], publicKey: [UInt8]) -> Bool {
        signature.withUnsafeBytes { signature in
            message.withUnsafeBytes { message in
                publicKey.withUnsafeBytes { publicKey in
                    self.isValid(signature: signature, message: message, publicKey: publicKey)
                }
            }
        }
    }

    /// The same without a copy or an allocation; the buffers are borrowed for the call.
    package static func isValid(
        signature: UnsafeRawBufferPointer,
        message: UnsafeRawBufferPointer,
        publicKey: UnsafeRawBufferPointer
    ) -> Bool {
        guard
            signature.count == self.signatureByteCount, publicKey.count == self.publicKeyByteCount,
            let signatureStart = signature.assumingMemoryBound(to: UInt8.self).baseAddress,
            let publicKeyStart = publicKey.assumingMemoryBound(to: UInt8.self).baseAddress
        else {
            return false
        }
        var parsed = secp256k1_xonly_pubkey()
        guard secp256k1_xonly_pubkey_parse(context, &parsed, publicKeyStart) == 1 else {
            return false
        }
        let messageStart = message.assumingMemoryBound(to: UInt8.self).baseAddress
        return secp256k1_schnorrsig_verify(context, signatureStart, messageStart, message.count, &parsed) == 1
    }
}
