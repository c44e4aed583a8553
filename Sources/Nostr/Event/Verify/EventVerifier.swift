private import Cipher
private import Schnorr

/// Checks ids and signatures (NIP-01, BIP-340) with buffers that it keeps. Not shared between threads: one for each
/// worker.
///
/// The id is compared first, because hashing costs a twentieth of verifying a signature. An id counts as right in both
/// forms in use for control characters without an escape of their own in NIP-01: `\u00xx`, as JSON encoders write
/// them, and verbatim, as NIP-01 says.
package final class EventVerifier {
    private let hasher = SHA256Hasher()
    private var escaped = JSONText(spelling: .escaped)

    /// What one huge event made the buffer grow to is not kept for ever.
    private static let largestBuffer = 1 << 20

    package init() {
        escaped.bytes.reserveCapacity(4096)
    }

    /// Verifies an event from the bytes it was scanned in. With other bytes the result is ``Verification/wrongID``.
    package func verify(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) -> Verification {
        guard hasRightID(event, in: json) else { return .wrongID }
        return isSigned(event.id, by: event.pubkey, event.signature) ? .valid : .wrongSignature
    }

    package func verify(_ event: Event) -> Verification {
        guard hasRightID(event) else { return .wrongID }
        return isSigned(event.id, by: event.pubkey, event.signature) ? .valid : .wrongSignature
    }

    /// Whether the id is right, whatever the signature is.
    package func hasRightID(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) -> Bool {
        escaped.bytes.removeAll(keepingCapacity: escaped.bytes.capacity <= Self.largestBuffer)
        do throws(EventError) {
            try escaped.appendCanonical(event, in: json)
            if hash(escaped.bytes) == event.id.bytes { return true }
            guard event.content.hasControlCharacters || event.tags.hasControlCharacters else { return false }
            var verbatim = JSONText(spelling: .verbatim)
            try verbatim.appendCanonical(event, in: json)
            return hash(verbatim.bytes) == event.id.bytes
        } catch {
            return false
        }
    }

    private func hasRightID(_ event: Event) -> Bool {
        let canonical = event.canonicalBytes
        if hash(canonical) == event.id.bytes { return true }
        let verbatim = event.canonicalBytes(as: .verbatim)
        return verbatim.count != canonical.count && hash(verbatim) == event.id.bytes
    }

    private func hash(_ bytes: [UInt8]) -> Bytes32 {
        var digest = Bytes32(words: (0, 0, 0, 0))
        bytes.withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &digest) { hasher.hash(bytes, into: $0) }
        }
        return digest
    }

    private func isSigned(_ id: EventID, by pubkey: PublicKey, _ signature: Signature) -> Bool {
        withUnsafeBytes(of: id.bytes.words) { id in
            withUnsafeBytes(of: pubkey.bytes.words) { pubkey in
                withUnsafeBytes(of: (signature.first.words, signature.second.words)) { signature in
                    Schnorr.isValid(signature: signature, message: id, publicKey: pubkey)
                }
            }
        }
    }
}
