import Cipher
import Foundation
import Notifications
import Platforms
import PluginHost
import Units
import WebPushEncryption

/// A made-up device of one platform, whose keys are known, so that what is encrypted to it can be shown.
package struct SampleDevice: Sendable {
    package var address: DeviceAddress
    /// What sealed notifications are encrypted to where the transport does not do it.
    package let sealingKey: SealingKey
    private let privateKey: P256PrivateKey
    private let secret: [UInt8]

    /// `description` is what the platform's plugin says. `token` and `fields` replace or add to what is made up.
    package init(
        platform: String,
        _ description: PlatformDescription?,
        app: String = "default",
        token: String? = nil,
        fields: [String: String] = [:]
    ) {
        privateKey = P256PrivateKey()
        secret = SecureRandom.bytes(WebPushKeys.authenticationSecretByteCount)
        let p256dh = Base64URL.encode(privateKey.publicKey.x963Representation)
        let auth = Base64URL.encode(secret)
        sealingKey = .webPush(p256dh: p256dh, auth: auth)
        address = DeviceAddress(
            platform: platform,
            app: app,
            token: token ?? description?.sample.token ?? "https://push.example.com/sample",
            fields: Self.fields(description?.sample, p256dh: p256dh, auth: auth).merging(fields) { $1 },
            registeredAt: .epoch
        )
    }

    /// The plaintext of a body that was encrypted to this device (RFC 8291); nil when it was not.
    package func decrypt(_ body: [UInt8]) -> [UInt8]? {
        try? WebPushEncryption.decrypt(body, privateKey: privateKey, authenticationSecret: secret)
    }

    /// What the platform's sample says, with the keys of this device.
    private static func fields(_ sample: PlatformSample?, p256dh: String, auth: String) -> [String: String] {
        var fields: [String: String] = [:]
        for field in sample?.fields ?? [] {
            switch field.value {
            case .text(let text): fields[field.name] = text
            case .generated(.p256dh): fields[field.name] = p256dh
            case .generated(.auth): fields[field.name] = auth
            case .generated(let key): fields[field.name] = SampleKeys.make(key)
            }
        }
        return fields
    }
}

/// Finds the envelope of ``Mode/sealed`` in a request's body, wherever a platform has it.
enum SealedBody {
    /// The envelope's content as `device` reads it; nil when there is no envelope to it.
    static func plaintext(in body: [UInt8], for device: SampleDevice) -> [UInt8]? {
        guard let ciphertext = ciphertext(in: Data(body)), let bytes = Base64.decode(ciphertext),
            let plaintext = device.decrypt(bytes)
        else { return nil }
        let end = plaintext.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? 0
        return Array(plaintext[..<end])
    }

    /// `text`, which holds an envelope, with no more than the beginning of the ciphertext: nobody reads that.
    static func cutShort(_ text: String) -> String {
        guard let ciphertext = ciphertext(in: Data(text.utf8)) else { return text }
        return text.replacing(ciphertext, with: ciphertext.prefix(24) + "…")
    }

    private static func ciphertext(in data: Data) -> String? {
        (try? JSONSerialization.jsonObject(with: data)).flatMap { ciphertext(in: $0) }
    }

    private static func ciphertext(in json: Any) -> String? {
        if let object = json as? [String: Any] {
            if object["alg"] is String, let ciphertext = object["ct"] as? String { return ciphertext }
            return object.values.lazy.compactMap(ciphertext).first
        }
        // FCM's data has texts only.
        guard let text = json as? String, text.hasPrefix("{") else { return nil }
        return ciphertext(in: Data(text.utf8))
    }
}
