import Cipher

/// The device tokens declared, and what becomes of the others.
struct APNsDevices: Sendable {
    private var devices: [APNsEnvironment: [String: APNsDevice]] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [APNsDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// What was said of the same tokens in the same environment before is forgotten.
    mutating func declare(contentsOf devices: [APNsDevice]) {
        for device in devices {
            self.devices[device.environment, default: [:]][device.token.lowercased()] = device
        }
    }

    /// Checks the path of a request and the token in it.
    func check(_ path: String, topic: String, in environment: APNsEnvironment) throws(APNsRefusal) {
        guard path.hasPrefix(HTTP2Request.devicePath) else {
            throw APNsRefusal(.badPath, "the path is not /3/device/ and a token")
        }
        let token = path.dropFirst(HTTP2Request.devicePath.count).lowercased()
        guard !token.isEmpty else { throw APNsRefusal(.missingDeviceToken, "there is no token after /3/device/") }
        guard !token.contains("/") else { throw APNsRefusal(.badPath, "there is more than a token after /3/device/") }
        // Apple leaves the length open; all known tokens have 32 bytes or more.
        guard let bytes = Hex.decode(anyCase: token), (32...128).contains(bytes.count) else {
            throw APNsRefusal(.badDeviceToken, "the token is not 32 to 128 bytes in hex")
        }
        guard let device = devices[environment]?[token] else {
            guard !devices.contains(where: { $0.key != environment && $0.value[token] != nil }) else {
                throw APNsRefusal(.badDeviceToken, "the token belongs to the other environment")
            }
            guard acceptsUndeclared else { throw APNsRefusal(.badDeviceToken, "the token was not declared") }
            return
        }
        switch device.state {
        case .registered: break
        case .unregistered(let since):
            throw APNsRefusal(.unregistered, timestamp: since, "the app is not on this device")
        case .expired(let since): throw APNsRefusal(.expiredToken, timestamp: since, "the token has expired")
        case .bad: throw APNsRefusal(.badDeviceToken, "the token is not one of a device")
        }
        guard device.topics?.contains(topic) ?? true else {
            throw APNsRefusal(.deviceTokenNotForTopic, "the token does not belong to this apns-topic")
        }
    }
}
