import CSecp256k1
import Cipher

/// Verifies BIP-340 signatures.
package enum Schnorr {
    /// The length of a signature in bytes.
    package static let signatureByteCount = 64
    /// The length of an x-only public key in bytes.
    package static let publicKeyByteCount = 32

    /// Whether `signature` (64 bytes) of `message`, of any length, was made with the key of the x-only `publicKey` (32
    /// bytes). Malformed input is not valid. `keys` caches parsed keys.
    package static func isValid(
        signature: [UInt8],
        message: [UInt8],
        publicKey: [UInt8],
        keys: ParsedKeys? = nil
    ) -> Bool {
        signature.withUnsafeBytes { signature in
            message.withUnsafeBytes { message in
                publicKey.withUnsafeBytes { publicKey in
                    self.isValid(signature: signature, message: message, publicKey: publicKey, keys: keys)
                }
            }
        }
    }

    /// Does the same without a copy or an allocation; the buffers are borrowed for the call.
    package static func isValid(
        signature: UnsafeRawBufferPointer,
        message: UnsafeRawBufferPointer,
        publicKey: UnsafeRawBufferPointer,
        keys: ParsedKeys? = nil
    ) -> Bool {
        guard
            signature.count == self.signatureByteCount, publicKey.count == self.publicKeyByteCount,
            let signatureStart = signature.assumingMemoryBound(to: UInt8.self).baseAddress,
            let publicKeyStart = publicKey.assumingMemoryBound(to: UInt8.self).baseAddress
        else { return false }
        let messageStart = message.assumingMemoryBound(to: UInt8.self).baseAddress
        func isValid(_ key: UnsafePointer<secp256k1_xonly_pubkey>) -> Bool {
            secp256k1_schnorrsig_verify(context, signatureStart, messageStart, message.count, key) == 1
        }
        if let keys { return keys.withKey(publicKey, isValid) ?? false }
        var parsed = secp256k1_xonly_pubkey()
        guard secp256k1_xonly_pubkey_parse(context, &parsed, publicKeyStart) == 1 else { return false }
        return isValid(&parsed)
    }
}

extension Schnorr {
    /// Whether these are the 32 bytes of an x-only public key: the abscissa of a point on the curve (BIP-340).
    package static func isPublicKey(_ bytes: [UInt8]) -> Bool {
        var parsed = secp256k1_xonly_pubkey()
        return bytes.count == self.publicKeyByteCount && secp256k1_xonly_pubkey_parse(context, &parsed, bytes) == 1
    }
}

/// The libsecp256k1 context of the process.
///
/// `nonisolated(unsafe)` is safe: the context is blinded once while it is made and never changed after that, so that
/// the library allows several threads to use it. Never freed.
nonisolated(unsafe) let context: OpaquePointer = {
    let context = secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE))
    precondition(context != nil, "libsecp256k1 has no memory for a context")
    // Blinds the multiplications with secrets against timing and power measurements.
    let isBlinded = secp256k1_context_randomize(context.unsafelyUnwrapped, SecureRandom.bytes(32))
    precondition(isBlinded == 1, "libsecp256k1 failed to blind its context")
    return context.unsafelyUnwrapped
}()

/// A cache of parsed public keys, for one thread. Parsing takes a tenth of a verification because it finds the point on
/// the curve, and authors recur.
///
/// Each key has one slot, chosen by its bytes, so an attacker who chooses keys can only evict others.
package final class ParsedKeys {
    private struct Slot {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        var parsed = secp256k1_xonly_pubkey()
        var isFilled = false
    }

    private var slots: [Slot]

    /// 1,024 keys take a tenth of a megabyte.
    package init(count: Int = 1024) {
        slots = [Slot](repeating: Slot(), count: max(1, count))
    }

    /// Calls `body` with the parsed key of these 32 bytes; returns nil if they are not a valid key.
    func withKey<Result>(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafePointer<secp256k1_xonly_pubkey>) -> Result
    ) -> Result? {
        let words = bytes.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
        let place = Int(words.3 % UInt64(slots.count))
        return slots.withUnsafeMutableBufferPointer { slots in
            if !slots[place].isFilled || slots[place].words != words {
                guard let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
                    secp256k1_xonly_pubkey_parse(context, &slots[place].parsed, start) == 1
                else {
                    // A failed parse may have left half a key.
                    slots[place].isFilled = false
                    return nil
                }
                slots[place].words = words
                slots[place].isFilled = true
            }
            return withUnsafePointer(to: slots[place].parsed, body)
        }
    }
}
