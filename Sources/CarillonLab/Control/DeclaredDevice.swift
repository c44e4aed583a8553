/// A token that is declared through the control endpoint; `"service": "fcm"` or `"apns_sandbox"` tells whose it is, APNs' without it.
enum DeclaredDevice: Decodable {
    case apns(APNsDevice)
    case fcm(FCMDevice)

    private enum CodingKeys: CodingKey {
        case service
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decodeIfPresent(LabService.self, forKey: .service) {
        case nil, .apns: self = .apns(try APNsDevice(from: decoder))
        case .apnsSandbox:
            var device = try APNsDevice(from: decoder)
            device.environment = .sandbox
            self = .apns(device)
        case .fcm: self = .fcm(try FCMDevice(from: decoder))
        default:
            throw container.mistake(.service, "service is one of apns, apns_sandbox, fcm")
        }
    }
}
