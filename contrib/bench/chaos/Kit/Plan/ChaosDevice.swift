import CarillonLab
import Cipher
import Notifications

/// A device that is pushed to.
package struct ChaosDevice: Sendable {
    package let id: DeviceID
    package let transport: ChaosTransport
    /// What the lab's record calls it: token, subscription or topic.
    package let target: String
    /// What it decrypts with, where messages are encrypted to it.
    package let receiver: WebPushReceiver?
    /// How many of its requests the push service sees before it says that the device is gone; nil: it lives on.
    package let requestsBeforeDeath: Int?

    init(_ number: Int, _ transport: ChaosTransport, seed: UInt64, requestsBeforeDeath: Int?) {
        id = DeviceID(rawValue: Int64(number) + 1)
        self.transport = transport
        self.requestsBeforeDeath = requestsBeforeDeath
        var random = SplitMix64(seed: seed, for: "device \(number)")
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        switch transport {
        case .apns: target = Hex.encode(bytes)
        case .fcm:
            target = "c\(Base64URL.encode(Array(bytes.prefix(15))))0:APA91b" + Hex.encode(bytes) + Hex.encode(bytes)
        case .webPush: target = Base64URL.encode(bytes)
        case .unifiedPush: target = "up" + Hex.encode(Array(bytes.prefix(12)))
        }
        // Its keys are the system's: they decide nothing about the course of a run.
        let isEncrypted = transport == .webPush || transport == .unifiedPush
        receiver = isEncrypted ? WebPushReceiver(topic: target) : nil
    }

    /// Where a running lab takes its pushes. Throws `LabError` where the lab lacks the service.
    func address(at lab: Lab) throws -> DeviceAddress {
        var address = DeviceAddress(platform: transport.platform, app: Population.app, token: target, registeredAt: 1)
        switch transport {
        case .apns, .fcm: break
        case .webPush: address.token = try Self.url(lab.webPushURL) + "/push/" + target
        case .unifiedPush: address.token = try Self.url(lab.unifiedPushURL) + "/" + target + "?up=1"
        }
        if let receiver {
            let keys = try receiver.publicKeys()
            address.fields = ["p256dh": keys.p256dh, "auth": keys.auth]
        }
        return address
    }

    private static func url(_ url: String?) throws -> String {
        guard let url else { throw ChaosError("the lab lacks a service that takes part") }
        return url
    }
}
