private import Cipher

/// Encrypted payloads, version 2 (NIP-44), with the short and the extended length prefix.
package enum NIP44 {
    /// The length of a nonce in bytes.
    package static let nonceByteCount = 32
    /// How long a payload may be, in characters, unless the caller says otherwise: enough for a plaintext of 1 MiB.
    package static let defaultPayloadLimit = 3 << 19

    private static let version: UInt8 = 2
    private static let macByteCount = 32
    /// Version, nonce, the shortest padded plaintext with its prefix, and MAC.
    private static let minimumByteCount = 1 + nonceByteCount + 34 + macByteCount
    private static let minimumLength = (minimumByteCount + 2) / 3 * 4

    /// How many bytes a plaintext of `length` bytes has with its padding, the length prefix left out.
    package static func paddedLength(_ length: Int) -> Int {
        Padding.paddedLength(length)
    }

    /// Encrypts a plaintext of 1 to 2^32 - 1 bytes; `nonce` is 32 random bytes, fresh for each message.
    package static func encrypt(_ plaintext: [UInt8], key: ConversationKey, nonce: [UInt8]) throws -> String {
        let keys = try MessageKeys(conversation: key, nonce: nonce)
        let padded = try Padding.pad(plaintext)
        let ciphertext = try ChaCha20.apply(to: padded, key: keys.chachaKey, nonce: keys.chachaNonce)
        let authenticated = nonce + ciphertext
        let mac = HMACSHA256.authenticationCode(for: authenticated, key: keys.hmacKey)
        return Base64.encode([self.version] + authenticated + mac)
    }

    /// Encrypts a text; `nonce` is 32 random bytes, fresh for each message.
    package static func encrypt(_ plaintext: String, key: ConversationKey, nonce: [UInt8]) throws -> String {
        try self.encrypt(Array(plaintext.utf8), key: key, nonce: nonce)
    }

    /// Decrypts a payload of at most `limit` characters.
    ///
    /// NIP-44 wants the signature of the event around it verified before. Throws a ``NIP44Error`` that says which
    /// check failed.
    package static func decrypt(
        _ payload: String,
        key: ConversationKey,
        limit: Int = defaultPayloadLimit
    ) throws -> [UInt8] {
        // Says that a future version does not use base64.
        guard payload.utf8.first != UInt8(ascii: "#") else {
            throw NIP44Error.unsupportedVersion
        }
        guard payload.utf8.count <= limit else {
            throw NIP44Error.tooLong(limit: limit)
        }
        guard payload.utf8.count >= self.minimumLength else {
            throw NIP44Error.invalidLength
        }
        guard let bytes = Base64.decode(payload) else {
            throw NIP44Error.notBase64
        }
        guard bytes.first == self.version else {
            throw NIP44Error.unsupportedVersion
        }
        guard bytes.count >= self.minimumByteCount else {
            throw NIP44Error.invalidLength
        }
        return try self.open(
            bytes.dropFirst().dropLast(self.macByteCount),
            mac: bytes.suffix(self.macByteCount),
            key: key
        )
    }

    /// Decrypts a payload of at most `limit` characters that holds a text in UTF-8.
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
        guard ConstantTime.areEqual(expected, Array(mac)) else {
            throw NIP44Error.invalidMAC
        }
        return try Padding.unpad(ChaCha20.apply(to: ciphertext, key: keys.chachaKey, nonce: keys.chachaNonce))
    }
}
