import CarillonLab
import Cipher
import Core
import Push

/// The actions of a run, all drawn from the seed.
package struct ChaosPlan: Sendable {
    /// The failures during a run.
    package enum Weather: Sendable, Equatable {
        /// No failures.
        case calm
        /// Everything, in phases.
        case chaos
        /// One transport's push service answers no request until all others have ended; no other failures happen.
        case hanging(ChaosTransport)
    }

    package var seed: UInt64
    /// Over all transports.
    package var deliveries: Int
    package var transports: [ChaosTransport]
    package var weather: Weather
    /// How often a device is pushed to.
    package var deliveriesPerDevice = 4
    /// One of this number of devices goes away during a chaotic run.
    package var devicesPerDeath = 25
    /// The speed of the courier's clock, as a multiple of the real one: its waits of minutes pass in seconds.
    package var haste: Int64 = 100
    /// The timeout of a request in milliseconds; plugins' own timeouts are too long for a run.
    package var requestTimeout: UInt32 = 2_000
    /// Maximum number of attempts in flight for each transport.
    package var inFlight = 64
    /// A run without a completed delivery for this number of seconds is aborted as stuck.
    package var timeout = 120

    package init(
        seed: UInt64,
        deliveries: Int,
        transports: [ChaosTransport] = ChaosTransport.allCases,
        weather: Weather = .chaos
    ) {
        self.seed = seed
        self.deliveries = max(deliveries, transports.count)
        self.transports = transports
        self.weather = weather
    }
}

/// The transports that take part.
package enum ChaosTransport: String, CaseIterable, Sendable, Codable {
    case apns
    case fcm
    case webPush = "webpush"
    case unifiedPush = "unifiedpush"

    /// The platform's name in registrations and plugins.
    package var platform: String {
        switch self {
        case .apns: "ios"
        case .fcm: "android"
        case .webPush: "web"
        case .unifiedPush: "unifiedpush"
        }
    }

    /// The lab's service that its pushes reach.
    package var service: LabService {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .webPush: .webPush
        case .unifiedPush: .unifiedPush
        }
    }

    package init?(service: LabService) {
        guard let transport = Self.allCases.first(where: { $0.service == service }) else { return nil }
        self = transport
    }

    /// Whether the lab speaks HTTP/2 there, and streams can be reset one by one.
    package var speaksHTTP2: Bool { self == .apns || self == .fcm }
}

/// A device that is pushed to.
package struct ChaosDevice: Sendable {
    package let id: DeviceID
    package let transport: ChaosTransport
    /// The device's name in the lab's record: token, subscription or topic.
    package let target: String
    /// The device's decryption key, if messages are encrypted to it.
    package let receiver: WebPushReceiver?
    /// The number of requests after which the push service reports the device as gone; nil: never.
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
        // The system creates its keys, but they do not affect the course of a run.
        let isEncrypted = transport == .webPush || transport == .unifiedPush
        receiver = isEncrypted ? WebPushReceiver(topic: target) : nil
    }

    /// Returns the address for pushes at a running lab. Throws `LabError` if the lab lacks the service.
    func address(at lab: Lab) throws -> DeviceAddress {
        var address = DeviceAddress(
            platform: transport.platform,
            app: Population.app,
            token: target,
            registeredAt: Timestamp(milliseconds: 1)
        )
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
