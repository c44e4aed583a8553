/// A token that is declared through the control endpoint; `"service": "fcm"` tells whose it is, APNs' without it.
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
        case .fcm: self = .fcm(try FCMDevice(from: decoder))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .service,
                in: container,
                debugDescription: "service is one of apns, fcm"
            )
        }
    }
}
