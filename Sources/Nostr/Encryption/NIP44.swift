import Cipher

/// Encrypted payloads, version 2 (NIP-44), with the short and the extended length prefix.
package enum NIP44 {
    /// The length of a nonce in bytes.
    package static let nonceByteCount = 32
    /// The default maximum length of a payload, in characters: enough for a plaintext of 1 MiB.
    package static let defaultPayloadLimit = 3 << 19

    private static let version: UInt8 = 2
    private static let macByteCount = 32
    /// Version, nonce, the shortest padded plaintext with its prefix, and MAC.
    private static let minimumByteCount = 1 + nonceByteCount + 34 + macByteCount
    private static let minimumLength = (minimumByteCount + 2) / 3 * 4

    /// Returns the length of a plaintext of `length` bytes with its padding, without the length prefix.
    package static func paddedLength(_ length: Int) -> Int {
        Padding.paddedLength(length)
    }

    /// Encrypts a plaintext of 1 to 2^32 - 1 bytes. `nonce` must be 32 new random bytes for each message.
    package static func encrypt(_ plaintext: [UInt8], key: ConversationKey, nonce: [UInt8]) throws -> String {
        let keys = try MessageKeys(conversation: key, nonce: nonce)
        let padded = try Padding.pad(plaintext)
        let ciphertext = try ChaCha20.apply(to: padded, key: keys.chachaKey, nonce: keys.chachaNonce)
        let authenticated = nonce + ciphertext
        let mac = HMACSHA256.authenticationCode(for: authenticated, key: keys.hmacKey)
        return Base64.encode([self.version] + authenticated + mac)
    }

    /// Encrypts a string. `nonce` must be 32 new random bytes for each message.
    package static func encrypt(_ plaintext: String, key: ConversationKey, nonce: [UInt8]) throws -> String {
        try self.encrypt(Array(plaintext.utf8), key: key, nonce: nonce)
    }

    /// Decrypts a payload of up to `limit` characters.
    ///
    /// NIP-44 requires that the signature of the surrounding event was verified before. Throws a ``NIP44Error`` that
    /// names the failed check.
    package static func decrypt(
        _ payload: String,
        key: ConversationKey,
        limit: Int = defaultPayloadLimit
    ) throws -> [UInt8] {
        // A `#` means a future version without base64.
        guard payload.utf8.first != UInt8(ascii: "#") else { throw NIP44Error.unsupportedVersion }
        guard payload.utf8.count <= limit else { throw NIP44Error.tooLong(limit: limit) }
        guard payload.utf8.count >= self.minimumLength else { throw NIP44Error.invalidLength }
        guard let bytes = Base64.decode(payload) else { throw NIP44Error.notBase64 }
        guard bytes.first == self.version else { throw NIP44Error.unsupportedVersion }
        guard bytes.count >= self.minimumByteCount else { throw NIP44Error.invalidLength }
        return try self.open(
            bytes.dropFirst().dropLast(self.macByteCount),
            mac: bytes.suffix(self.macByteCount),
            key: key
        )
    }

    /// Decrypts a payload of up to `limit` characters to a UTF-8 string.
    package static func decryptText(
        _ payload: String,
        key: ConversationKey,
        limit: Int = defaultPayloadLimit
    ) throws -> String {
        guard let text = String(validating: try self.decrypt(payload, key: key, limit: limit), as: UTF8.self) else {
            throw NIP44Error.notText
        }
        return text
    }

    private static func open(
        _ authenticated: ArraySlice<UInt8>,
        mac: ArraySlice<UInt8>,
        key: ConversationKey
    ) throws -> [UInt8] {
        let nonce = Array(authenticated.prefix(self.nonceByteCount))
        let ciphertext = Array(authenticated.dropFirst(self.nonceByteCount))
        let keys = try MessageKeys(conversation: key, nonce: nonce)
        let expected = HMACSHA256.authenticationCode(for: Array(authenticated), key: keys.hmacKey)
        guard ConstantTime.areEqual(expected, Array(mac)) else { throw NIP44Error.invalidMAC }
        return try Padding.unpad(ChaCha20.apply(to: ciphertext, key: keys.chachaKey, nonce: keys.chachaNonce))
    }
}

/// NIP-44's padding: a length prefix, the plaintext, and zeros that blur the length.
enum Padding {
    /// Plaintexts of at least this length get the extended prefix.
    private static let extendedLength = 65_536

    /// Returns the length of plaintext and zeros together, without the prefix.
    static func paddedLength(_ length: Int) -> Int {
        guard length > 32 else { return 32 }
        let nextPower = 1 << (Int.bitWidth - (length - 1).leadingZeroBitCount)
        let chunk = nextPower <= 256 ? 32 : nextPower / 8
        return chunk * ((length - 1) / chunk + 1)
    }

    static func pad(_ plaintext: [UInt8]) throws -> [UInt8] {
        guard let length = UInt32(exactly: plaintext.count), length > 0 else {
            throw NIP44Error.invalidPlaintextLength
        }
        let total = self.paddedLength(plaintext.count)
        var padded: [UInt8] = []
        padded.reserveCapacity(6 + total)
        if plaintext.count >= self.extendedLength {
            padded += [0, 0, UInt8(truncatingIfNeeded: length >> 24), UInt8(truncatingIfNeeded: length >> 16)]
        }
        padded += [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
        padded += plaintext
        padded += repeatElement(0, count: total - plaintext.count)
        return padded
    }

    static func unpad(_ padded: [UInt8]) throws -> [UInt8] {
        guard let (length, prefix) = self.prefix(of: padded) else { throw NIP44Error.invalidPadding }
        let end = prefix + length
        // The zeros themselves are not checked, because the MAC authenticates them.
        guard length > 0, end <= padded.count, padded.count == prefix + self.paddedLength(length) else {
            throw NIP44Error.invalidPadding
        }
        return Array(padded[prefix..<end])
    }

    /// Returns the declared length, and the length of the prefix.
    private static func prefix(of padded: [UInt8]) -> (length: Int, count: Int)? {
        func number(_ range: Range<Int>) -> Int {
            padded[range].reduce(0) { $0 << 8 | Int($1) }
        }
        guard padded.count >= 2 else { return nil }
        let short = number(0..<2)
        guard short == 0 else { return (short, 2) }
        guard padded.count >= 6 else { return nil }
        let long = number(2..<6)
        return long >= self.extendedLength ? (long, 6) : nil
    }
}

/// An error from encrypting or decrypting a NIP-44 payload. Quotes none of it.
package enum NIP44Error: Error, Hashable, CustomStringConvertible {
    case unsupportedVersion
    case tooLong(limit: Int)
    case invalidLength
    case notBase64
    case invalidMAC
    case invalidPadding
    case notText
    case invalidNonce
    case invalidPlaintextLength

    package var description: String {
        switch self {
        case .unsupportedVersion:
            "the payload has an unsupported version of NIP-44; expected version 2"
        case .tooLong(let limit):
            "the payload is longer than the limit of \(limit) characters"
        case .invalidLength:
            "the payload is too short for NIP-44; expected at least 132 characters of base64"
        case .notBase64:
            "the payload is not base64 with padding"
        case .invalidMAC:
            "the payload does not authenticate: encrypted to other keys, or changed in transit"
        case .invalidPadding:
            "the payload's length prefix and padding do not match"
        case .notText:
            "the plaintext is not UTF-8"
        case .invalidNonce:
            "a NIP-44 nonce must be 32 bytes"
        case .invalidPlaintextLength:
            "a NIP-44 plaintext must be 1 to 4294967295 bytes"
        }
    }
}

/// The secret that two keys share for all their messages (NIP-44, "Calculate a conversation key"), the same on both
/// sides.
package struct ConversationKey: Sendable, Concealed {
    private let bytes: [UInt8]

    /// Computes the key, which takes as long as verifying a signature: cache it if you need it often.
    ///
    /// Throws if `publicKey` is not a point on the curve.
    package init(secret: SecretKey, public publicKey: PublicKey) throws {
        let shared = try secret.sharedX(withXOnly: publicKey.array)
        self.bytes = HKDFSHA256.extract(salt: Array("nip44-v2".utf8), inputKeyMaterial: shared)
    }

    /// Takes a key that was computed before.
    ///
    /// Throws unless it has 32 bytes.
    package init(bytes: [UInt8]) throws {
        guard bytes.count == 32 else {
            throw CipherError.wrongLength(of: "conversation key", expected: "32", actual: bytes.count)
        }
        self.bytes = bytes
    }

    /// Returns the key itself: never for a log.
    package func reveal() -> [UInt8] {
        self.bytes
    }
}

/// The keys that encrypt and authenticate one message (NIP-44, "Calculate message keys").
package struct MessageKeys: Sendable, Concealed {
    package let chachaKey: [UInt8]
    package let chachaNonce: [UInt8]
    package let hmacKey: [UInt8]

    /// Derives the keys of a nonce.
    ///
    /// Throws unless `nonce` has 32 bytes.
    package init(conversation: ConversationKey, nonce: [UInt8]) throws {
        guard nonce.count == NIP44.nonceByteCount else { throw NIP44Error.invalidNonce }
        let keys = try HKDFSHA256.expand(pseudoRandomKey: conversation.reveal(), info: nonce, length: 76)
        self.chachaKey = Array(keys[..<32])
        self.chachaNonce = Array(keys[32..<44])
        self.hmacKey = Array(keys[44...])
    }
}
