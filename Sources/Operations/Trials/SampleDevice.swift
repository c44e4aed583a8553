import Cipher
import Notifications
import WebPushEncryption

/// A made-up device of one platform, whose keys are known, so that what is encrypted to it can be shown.
package struct SampleDevice: Sendable {
    package var address: DeviceAddress
    /// What sealed notifications are encrypted to where the transport does not do it.
    package let sealingKey: SealingKey
    private let privateKey: P256PrivateKey
    private let secret: [UInt8]

    /// `token` and `fields` replace or add to what is made up.
    package init(
        platform: String,
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
            token: token ?? Self.token(for: platform),
            fields: Self.fields(for: platform, p256dh: p256dh, auth: auth).merging(fields) { $1 },
            registeredAt: 0
        )
    }

    /// The plaintext of a body that was encrypted to this device (RFC 8291); nil when it was not.
    package func decrypt(_ body: [UInt8]) -> [UInt8]? {
        try? WebPushEncryption.decrypt(body, privateKey: privateKey, authenticationSecret: secret)
    }

    private static func token(for platform: String) -> String {
        switch platform {
        case "ios": String(repeating: "00", count: 32)
        case "android": "cExampleInstance:APA91b" + String(repeating: "0", count: 120)
        case "ntfy": "https://ntfy.example.com/sample"
        case "gotify": "https://gotify.example.com/message?token=Asample"
        default: "https://push.example.com/sample"
        }
    }

    /// What an iPhone app may register beside its device token. Not that of a managed device: its pushes carry nothing.
    private static let tokensOfPushTypes = [
        "live_activity_token", "voip_token", "location_token", "complication_token", "fileprovider_token",
        "pushtotalk_token", "widgets_token", "controls_token",
    ]

    private static func fields(for platform: String, p256dh: String, auth: String) -> [String: String] {
        switch platform {
        case "ios":
            Dictionary(
                uniqueKeysWithValues: tokensOfPushTypes.enumerated().map { index, name in
                    (name, String(repeating: "0\(index + 1)", count: 32))
                }
            )
        case "web", "unifiedpush": ["p256dh": p256dh, "auth": auth]
        default: [:]
        }
    }
}
