/// A token or topic that is declared through the control endpoint; `"service"` tells whose it is, APNs' without it.
enum DeclaredDevice: Decodable {
    case apns(APNsDevice)
    case fcm(FCMDevice)
    /// Of UnifiedPush or ntfy.
    case topic(NtfyTopic, LabService)
    case gotify(token: String, isRegistered: Bool)

    private enum CodingKeys: CodingKey {
        case service
        case token
        case state
    }

    private static let services: [LabService] = [.apns, .apnsSandbox, .fcm, .unifiedPush, .ntfy, .gotify]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decodeIfPresent(LabService.self, forKey: .service) {
        case nil, .apns: self = .apns(try APNsDevice(from: decoder))
        case .apnsSandbox:
            var device = try APNsDevice(from: decoder)
            device.environment = .sandbox
            self = .apns(device)
        case .fcm: self = .fcm(try FCMDevice(from: decoder))
        case .unifiedPush: self = .topic(try NtfyTopic(from: decoder), .unifiedPush)
        case .ntfy: self = .topic(try NtfyTopic(from: decoder), .ntfy)
        case .gotify:
            let state = try container.decodeIfPresent(String.self, forKey: .state) ?? "registered"
            guard ["registered", "unregistered"].contains(state) else {
                throw container.mistake(.state, "state is one of registered, unregistered")
            }
            let token = try container.decode(String.self, forKey: .token)
            self = .gotify(token: token, isRegistered: state == "registered")
        case .oauth, .webPush, .apnsChannels:
            let words = Self.services.map(\.rawValue).joined(separator: ", ")
            throw container.mistake(.service, "service is one of \(words)")
        }
    }

    func declare(in state: inout LabCore.State) {
        switch self {
        case .apns(let device): state.apns.devices.declare(contentsOf: [device])
        case .fcm(let device): state.fcm.devices.declare(contentsOf: [device])
        case .topic(let topic, let service): state.topics[service, default: [:]][topic.name] = topic
        case .gotify(let token, isRegistered: true): state.gotify.declare(GotifyApplication(token: token))
        case .gotify(let token, isRegistered: false): state.gotify.remove(token)
        }
    }
}
