import Cipher

/// Message encryption for Web Push (RFC 8291): `aes128gcm` content of one record, its key agreed on with the
/// subscription's.
package enum WebPushEncryption {
    /// The longest body that every push service must accept, in bytes (RFC 8030 section 7.2).
    package static let maximumBodyByteCount = 4096
    /// How many bytes a body has more than its plaintext: a header of 86, a delimiter and a tag of 16.
    package static let overheadByteCount = 103
    /// The longest plaintext, with its padding, in bytes.
    package static let maximumPlaintextByteCount = maximumBodyByteCount - overheadByteCount

    private static let recordSize: UInt32 = 4096

    /// Encrypts a message of at most 3993 bytes together with its padding, and returns the body of the request to the
    /// push service, whose `Content-Encoding` is `aes128gcm`.
    ///
    /// `padding` zeros hide the length. The key pair must be used for this message only; `random` yields the salt.
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

    /// The same, padded to `size` bytes whatever the message's length, so that the body's tells nothing. Throws for a longer
    /// message, and for more than 3993 bytes.
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

    /// The same as the first, to keys as a subscription spells them.
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

    /// Decrypts the body of a message with the private half of a subscription's keys.
    ///
    /// Throws a ``WebPushEncryptionError`` when the body is not one record of `aes128gcm` from a sender's key on the
    /// curve, and when it was encrypted to other keys.
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
