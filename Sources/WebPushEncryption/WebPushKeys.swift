import Cipher

/// The public key and the secret of a Web Push subscription (RFC 8291 section 2).
package struct WebPushKeys: Sendable, Concealed {
    private static let publicKeyByteCount = 65
    package static let authenticationSecretByteCount = 16

    /// The Push API's `p256dh`.
    package let publicKey: P256PublicKey
    /// The Push API's `auth`: 16 bytes.
    package let authenticationSecret: [UInt8]

    /// Reads the texts of a subscription's `keys`: base64url with or without padding, or standard base64, which some
    /// clients write.
    ///
    /// Throws a ``WebPushEncryptionError`` that names the wrong key and what was expected.
    package init(p256dh: String, auth: String) throws {
        guard let point = Self.decode(p256dh) else {
            throw WebPushEncryptionError.malformedSubscriptionKey("p256dh", expected: "base64url")
        }
        guard let secret = Self.decode(auth) else {
            throw WebPushEncryptionError.malformedSubscriptionKey("auth", expected: "base64url")
        }
        try self.init(p256dh: point, auth: secret)
    }

    /// Throws a ``WebPushEncryptionError`` that names the wrong key and what was expected.
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
