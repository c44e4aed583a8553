import Cipher

/// The declared device tokens, and the rule for others.
struct APNsDevices: Sendable {
    private var devices: [APNsEnvironment: [String: APNsDevice]] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [APNsDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// Replaces earlier declarations of the same tokens and environments.
    mutating func declare(contentsOf devices: [APNsDevice]) {
        for device in devices {
            self.devices[device.environment, default: [:]][device.token.lowercased()] = device
        }
    }

    /// Checks the path of a request and the token in it.
    func check(_ path: String, topic: String, in environment: APNsEnvironment) throws(APNsError) {
        guard path.hasPrefix(LabRequest.devicePath) else {
            throw APNsError(.badPath, "the path is not /3/device/ and a token")
        }
        let token = path.dropFirst(LabRequest.devicePath.count).lowercased()
        guard !token.isEmpty else { throw APNsError(.missingDeviceToken, "there is no token after /3/device/") }
        guard !token.contains("/") else { throw APNsError(.badPath, "there is more than a token after /3/device/") }
        // Apple does not specify the length. All known tokens have 32 bytes or more.
        guard let bytes = Hex.decode(anyCase: token), (32...128).contains(bytes.count) else {
            throw APNsError(.badDeviceToken, "the token is not 32 to 128 bytes in hex")
        }
        guard let device = devices[environment]?[token] else {
            guard !devices.contains(where: { $0.key != environment && $0.value[token] != nil }) else {
                throw APNsError(.badDeviceToken, "the token belongs to the other environment")
            }
            guard acceptsUndeclared else { throw APNsError(.badDeviceToken, "the token was not declared") }
            return
        }
        switch device.state {
        case .registered: break
        case .unregistered(let since):
            throw APNsError(.unregistered, timestamp: since, "the app is not on this device")
        case .expired(let since): throw APNsError(.expiredToken, timestamp: since, "the token has expired")
        case .bad: throw APNsError(.badDeviceToken, "the token is not one of a device")
        }
        guard device.topics?.contains(topic) ?? true else {
            throw APNsError(.deviceTokenNotForTopic, "the token does not belong to this apns-topic")
        }
    }
}

/// A device token in the lab's APNs.
public struct APNsDevice: Sendable, Hashable {
    /// APNs' response to pushes for a token ("Handling notification responses from APNs").
    public enum State: Sendable, Hashable {
        case registered
        /// The app was removed: 410 `Unregistered`. `since` is in milliseconds since 1970.
        case unregistered(since: Int64)
        /// 410 `ExpiredToken`. `since` is in milliseconds since 1970.
        case expired(since: Int64)
        /// Not a token: 400 `BadDeviceToken`.
        case bad
    }

    /// In hex.
    public var token: String
    /// Checked before `topics`, and before the sender.
    public var state: State
    /// The token's topics; others get 400 `DeviceTokenNotForTopic`. Nil for all.
    public var topics: Set<String>?
    /// The token's environment. In the other one it gets 400 `BadDeviceToken`.
    public var environment: APNsEnvironment

    /// Accepts any text as token. Default: registered, in production and for every topic.
    public init(
        token: String,
        state: State = .registered,
        topics: Set<String>? = nil,
        environment: APNsEnvironment = .production
    ) {
        self.token = token
        self.state = state
        self.topics = topics
        self.environment = environment
    }
}

extension APNsDevice: Decodable {
    private enum CodingKeys: String, CodingKey {
        case token
        case state
        case since
        case topics
        case environment
    }

    /// Reads `{"token": "…", "state": "unregistered", "since": 1754000000000, "topics": ["com.example.app"],
    /// "environment": "sandbox"}`.
    ///
    /// `state` is registered, unregistered, expired or bad. Default: registered. `since` is in milliseconds. Default
    /// `environment`: sandbox if `service` is apns_sandbox, else production.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let since = try container.decodeIfPresent(Int64.self, forKey: .since) ?? 0
        let state: State =
            switch try container.decodeIfPresent(String.self, forKey: .state) ?? "registered" {
            case "registered": .registered
            case "unregistered": .unregistered(since: since)
            case "expired": .expired(since: since)
            case "bad": .bad
            default:
                throw container.invalid(.state, "state is one of registered, unregistered, expired, bad")
            }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            topics: try container.decodeIfPresent(Set<String>.self, forKey: .topics),
            environment: try container.decodeIfPresent(APNsEnvironment.self, forKey: .environment) ?? .production
        )
    }
}

/// One of APNs' two environments, each with its own hosts and device tokens.
public enum APNsEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    /// For builds from neither the App Store nor TestFlight.
    case sandbox

    /// The service in the record of pushes.
    var service: LabService { self == .production ? .apns : .apnsSandbox }
}

/// The state of the lab's APNs for both environments.
struct APNsState: Sendable {
    var devices: APNsDevices
    var keys: [ProviderKey]
    var channels: APNsChannels

    /// Throws `LabError` for an invalid key.
    init(_ configuration: LabConfiguration.APNs) throws {
        devices = APNsDevices(configuration.devices, acceptsUndeclared: configuration.acceptsUndeclaredDevices)
        keys = try configuration.credentials.map { try $0.providerKey(topics: configuration.topics) }
        channels = APNsChannels(isEnabled: configuration.allowsBroadcasts)
    }
}
