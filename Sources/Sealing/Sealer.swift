import Cipher
import Notifications
import Schnorr
import WebPushEncryption

/// Encrypts notifications to devices (``Mode/sealed``): who carries them learns that there is one, and for which device.
///
/// All envelopes of one algorithm have the same length, whatever is in them.
package struct Sealer: Sendable {
    private let identity: SecretKey
    private let random: RandomBytes

    /// `identity` is the router's key, one half of every NIP-44 conversation. `random` yields nonces and salts.
    package init(identity: SecretKey, random: @escaping RandomBytes = SecureRandom.bytes) {
        self.identity = identity
        self.random = random
    }

    /// `notification` with all but its urgency, expiry, neutral texts and their presentation in an envelope. Its signal
    /// and count stay for the stricter form; no transport is told them.
    ///
    /// `id` is the delivery's. Throws ``SealingError/tooLarge`` when more than an envelope holds is left after shortening, and
    /// what the ciphers throw for a key that is none.
    package func seal(_ notification: Notification, id: String, for key: SealingKey) throws -> Notification {
        let plaintext = try SealedContent(notification, id: id).padded()
        let envelope: Envelope
        switch key {
        case .nip44(let publicKey):
            envelope = try .nip44(plaintext, to: publicKey, from: identity, nonce: random(Envelope.nonceByteCount))
        case .webPush(let p256dh, let auth):
            let ciphertext = try WebPushEncryption.encrypt(plaintext, p256dh: p256dh, auth: auth, random: random)
            envelope = .aes128gcm(ciphertext, from: identity)
        }
        return Notification(
            mode: .sealed,
            signal: notification.signal,
            urgency: notification.urgency,
            count: notification.count,
            expiresAt: notification.expiresAt,
            neutral: notification.neutral,
            neutralPresentation: notification.neutralPresentation,
            sealed: envelope.json
        )
    }
}
