import Cipher
import JSON

/// Checks ids and signatures (NIP-01, BIP-340) with reusable buffers. Not thread-safe: use one for each worker.
///
/// The id is compared first, because hashing costs a twentieth of verifying a signature. Two spellings of control
/// characters without an escape in NIP-01 are accepted: `\u00xx`, as JSON encoders write them, and verbatim, as NIP-01
/// requires.
package final class EventVerifier {
    private let hasher = SHA256Hasher()
    private var escaped = JSONText(spelling: .escaped)
    private let keys: ParsedKeys?

    /// The maximum size of the buffer that is kept, because a huge event may enlarge it.
    private static let largestBuffer = 1 << 20

    /// `remembersKeys` caches recent authors' keys, which takes memory and is worthwhile for many events.
    package init(remembersKeys: Bool = false) {
        keys = remembersKeys ? ParsedKeys() : nil
        escaped.bytes.reserveCapacity(4096)
    }

    /// Verifies an event from its scanned bytes. With other bytes the result is ``Verification/wrongID``.
    package func verify(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) -> Verification {
        guard hasRightID(event, in: json) else { return .wrongID }
        return isSigned(event.id, by: event.pubkey, event.signature) ? .valid : .wrongSignature
    }

    package func verify(_ event: Event) -> Verification {
        guard hasRightID(event) else { return .wrongID }
        return isSigned(event.id, by: event.pubkey, event.signature) ? .valid : .wrongSignature
    }

    /// Whether the id is correct. Does not check the signature.
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
                    Schnorr.isValid(signature: signature, message: id, publicKey: pubkey, keys: keys)
                }
            }
        }
    }
}

/// The result of verifying an event's id and signature (NIP-01).
package enum Verification: Hashable, Sendable {
    case valid
    /// The id is not the SHA-256 of the event.
    case wrongID
    /// The signature is not a signature of the id by the pubkey (BIP-340).
    case wrongSignature
}

extension Event {
    /// Throws ``EventError/wrongID`` or ``EventError/wrongSignature`` if the id or the signature is wrong (NIP-01).
    ///
    /// For single events; ``EventVerifier`` is faster for many.
    package func verify() throws(EventError) {
        switch EventVerifier().verify(self) {
        case .valid: return
        case .wrongID: throw .wrongID
        case .wrongSignature: throw .wrongSignature
        }
    }
}

extension Event {
    /// Makes an event and signs it (NIP-01). `random` returns the 32 bytes that BIP-340 mixes into the nonce.
    ///
    /// Throws if libsecp256k1 fails, or if `random` returns another number of bytes.
    package static func signed(
        kind: Kind,
        createdAt: Int64,
        tags: [[String]] = [],
        content: String = "",
        by keys: KeyPair,
        random: RandomBytes = SecureRandom.bytes
    ) throws -> Event {
        var event = unsigned(kind: kind, createdAt: createdAt, tags: tags, content: content, by: keys.publicKey)
        event.signature = try keys.sign(event.id, random: random)
        return event
    }

    /// Makes an event for internal use: its signature is zeros.
    package static func unsigned(
        kind: Kind,
        createdAt: Int64,
        tags: [[String]] = [],
        content: String = "",
        by author: PublicKey
    ) -> Event {
        let nothing = Bytes32(words: (0, 0, 0, 0))
        var event = Event(
            id: EventID(nothing),
            pubkey: author,
            createdAt: createdAt,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: nothing, second: nothing)
        )
        event.id = event.computedID
        return event
    }
}
