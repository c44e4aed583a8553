/// Message encryption for Web Push (RFC 8291): one record of `aes128gcm` content, encrypted to a subscription's keys.
package enum WebPushEncryption {
    /// The maximum body that every push service must accept, in bytes (RFC 8030 section 7.2).
    package static let maximumBodyByteCount = 4096
    /// The bytes that encryption adds to the plaintext: a header of 86, a delimiter and a tag of 16.
    package static let overheadByteCount = 103
    /// The maximum plaintext including its padding, in bytes.
    package static let maximumPlaintextByteCount = maximumBodyByteCount - overheadByteCount

    private static let recordSize: UInt32 = 4096

    /// Encrypts a message. Returns the body of the request to the push service; its `Content-Encoding` is `aes128gcm`.
    ///
    /// `padding` zeros hide the length; message and padding together have up to 3993 bytes. `ephemeral` must be used
    /// for this message only. `random` makes the salt.
    package static func encrypt(
        _ plaintext: [UInt8],
        to keys: WebPushKeys,
        padding: Int = 0,
        ephemeral: P256PrivateKey = P256PrivateKey(),
        random: RandomBytes = SecureRandom.bytes
    ) throws -> [UInt8] {
        guard padding >= 0, padding <= self.maximumPlaintextByteCount - plaintext.count else {
            throw WebPushEncryptionError.plaintextTooLong(limit: self.maximumPlaintextByteCount)
        }
        let material = MessageKeyMaterial(
            sharedSecret: try ephemeral.sharedSecret(with: keys.publicKey),
            authenticationSecret: keys.authenticationSecret,
            receiver: keys.publicKey.x963Representation,
            sender: ephemeral.publicKey.x963Representation
        )
        let header = try AES128GCMHeader(
            salt: random(AES128GCMHeader.saltByteCount),
            recordSize: self.recordSize,
            keyIdentifier: ephemeral.publicKey.x963Representation
        )
        return try AES128GCM.encrypt(
            plaintext,
            inputKeyMaterial: material.inputKeyMaterial,
            header: header,
            padding: padding
        )
    }

    /// Encrypts a message padded to `size` bytes, so that the length of the body reveals nothing. Throws if the message
    /// is longer than `size`, or if `size` is more than 3993.
    package static func encrypt(
        _ plaintext: [UInt8],
        paddedTo size: Int,
        to keys: WebPushKeys,
        ephemeral: P256PrivateKey = P256PrivateKey(),
        random: RandomBytes = SecureRandom.bytes
    ) throws -> [UInt8] {
        guard plaintext.count <= size else {
            throw WebPushEncryptionError.plaintextTooLong(limit: size)
        }
        let padding = size - plaintext.count
        return try self.encrypt(plaintext, to: keys, padding: padding, ephemeral: ephemeral, random: random)
    }

    /// Encrypts a message to keys in the text form of a subscription.
    package static func encrypt(
        _ plaintext: [UInt8],
        p256dh: String,
        auth: String,
        padding: Int = 0,
        ephemeral: P256PrivateKey = P256PrivateKey(),
        random: RandomBytes = SecureRandom.bytes
    ) throws -> [UInt8] {
        let keys = try WebPushKeys(p256dh: p256dh, auth: auth)
        return try self.encrypt(plaintext, to: keys, padding: padding, ephemeral: ephemeral, random: random)
    }

    /// Decrypts the body of a message with the private key of a subscription.
    ///
    /// Throws a ``WebPushEncryptionError`` if the body is not one record of `aes128gcm`, if the sender's key is not on
    /// the curve, or if the message was encrypted to other keys.
    package static func decrypt(
        _ body: [UInt8],
        privateKey: P256PrivateKey,
        authenticationSecret: [UInt8]
    ) throws -> [UInt8] {
        try AES128GCM.decrypt(body) { header in
            guard body.count - header.byteCount <= Int(header.recordSize) else {
                throw WebPushEncryptionError.malformedMessage(expected: "exactly one record")
            }
            guard let sender = try? P256PublicKey(x963Representation: header.keyIdentifier) else {
                throw WebPushEncryptionError.malformedMessage(expected: "a sender's key of 65 bytes that is on P-256")
            }
            return MessageKeyMaterial(
                sharedSecret: try privateKey.sharedSecret(with: sender),
                authenticationSecret: authenticationSecret,
                receiver: privateKey.publicKey.x963Representation,
                sender: header.keyIdentifier
            ).inputKeyMaterial
        }
    }
}

/// The key material of one message, derived from a key agreement (RFC 8291 section 3.4).
package struct MessageKeyMaterial: Sendable, Concealed {
    /// The RFC's `PRK_key`.
    package let pseudoRandomKey: [UInt8]
    /// The RFC's `key_info`.
    package let keyInfo: [UInt8]
    /// The RFC's `IKM`: 32 bytes.
    package let inputKeyMaterial: [UInt8]

    /// `receiver` and `sender` are uncompressed points.
    package init(sharedSecret: [UInt8], authenticationSecret: [UInt8], receiver: [UInt8], sender: [UInt8]) {
        self.pseudoRandomKey = HKDFSHA256.extract(salt: authenticationSecret, inputKeyMaterial: sharedSecret)
        self.keyInfo = Array("WebPush: info\0".utf8) + receiver + sender
        // One block of HKDF's expansion, as in the RFC.
        self.inputKeyMaterial = HMACSHA256.authenticationCode(for: self.keyInfo + [1], key: self.pseudoRandomKey)
    }
}

/// The public key and the secret of a Web Push subscription (RFC 8291 section 2).
package struct WebPushKeys: Sendable, Concealed {
    private static let publicKeyByteCount = 65
    package static let authenticationSecretByteCount = 16

    /// The Push API's `p256dh`.
    package let publicKey: P256PublicKey
    /// The Push API's `auth`: 16 bytes.
    package let authenticationSecret: [UInt8]

    /// Reads the strings of a subscription's `keys`: base64url with or without padding, or standard base64, which some
    /// clients write.
    ///
    /// Throws a ``WebPushEncryptionError`` that names the wrong key and the expected format.
    package init(p256dh: String, auth: String) throws {
        guard let point = Self.decode(p256dh) else {
            throw WebPushEncryptionError.malformedSubscriptionKey("p256dh", expected: "base64url")
        }
        guard let secret = Self.decode(auth) else {
            throw WebPushEncryptionError.malformedSubscriptionKey("auth", expected: "base64url")
        }
        try self.init(p256dh: point, auth: secret)
    }

    /// Throws a ``WebPushEncryptionError`` that names the wrong key and the expected format.
    package init(p256dh: [UInt8], auth: [UInt8]) throws {
        guard p256dh.count == Self.publicKeyByteCount else {
            throw WebPushEncryptionError.malformedSubscriptionKey(
                "p256dh",
                expected: "65 bytes (an uncompressed point on P-256), not \(p256dh.count)"
            )
        }
        guard let publicKey = try? P256PublicKey(x963Representation: p256dh) else {
            throw WebPushEncryptionError.malformedSubscriptionKey(
                "p256dh",
                expected: "a point on P-256, uncompressed; check that it was copied whole"
            )
        }
        guard auth.count == Self.authenticationSecretByteCount else {
            throw WebPushEncryptionError.malformedSubscriptionKey("auth", expected: "16 bytes, not \(auth.count)")
        }
        self.publicKey = publicKey
        self.authenticationSecret = auth
    }

    private static func decode(_ text: String) -> [UInt8]? {
        Base64URL.decode(text) ?? Base64.decode(text)
    }
}

/// An error from encrypting or decrypting a Web Push message.
package struct WebPushEncryptionError: Error, Hashable, CustomStringConvertible {
    private enum Code: Hashable {
        case malformedSubscriptionKey(name: String, expected: String)
        case plaintextTooLong(limit: Int)
        case invalidSalt
        case invalidRecordSize
        case invalidKeyIdentifier
        case malformedMessage(expected: String)
        case notAuthentic
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    /// A subscription's key violates RFC 8291. `name` is its name in the Push API (`p256dh`, `auth`).
    package static func malformedSubscriptionKey(_ name: String, expected: String) -> WebPushEncryptionError {
        WebPushEncryptionError(.malformedSubscriptionKey(name: name, expected: expected))
    }

    /// Plaintext and padding do not fit in one record.
    package static func plaintextTooLong(limit: Int) -> WebPushEncryptionError {
        WebPushEncryptionError(.plaintextTooLong(limit: limit))
    }

    /// A salt is not 16 bytes long.
    package static let invalidSalt = WebPushEncryptionError(.invalidSalt)

    /// A record size has no capacity for a byte of data.
    package static let invalidRecordSize = WebPushEncryptionError(.invalidRecordSize)

    /// A key identifier has more than 255 bytes.
    package static let invalidKeyIdentifier = WebPushEncryptionError(.invalidKeyIdentifier)

    /// A message does not have the form of RFC 8188 or 8291.
    package static func malformedMessage(expected: String) -> WebPushEncryptionError {
        WebPushEncryptionError(.malformedMessage(expected: expected))
    }

    /// A message was encrypted to other keys, or changed in transit.
    package static let notAuthentic = WebPushEncryptionError(.notAuthentic)

    package var description: String {
        switch self.code {
        case .malformedSubscriptionKey(let name, let expected):
            "the subscription's \(name) must be \(expected)"
        case .plaintextTooLong(let limit):
            "the plaintext and its padding must be at most \(limit) bytes to fit in one record; shorten it"
        case .invalidSalt:
            "the salt must be 16 bytes"
        case .invalidRecordSize:
            "the record size must be at least 18"
        case .invalidKeyIdentifier:
            "the key identifier must be at most 255 bytes"
        case .malformedMessage(let expected):
            "the message is not aes128gcm content: expected \(expected)"
        case .notAuthentic:
            "the message does not authenticate: encrypted to other keys, or changed in transit"
        }
    }
}
