import CarillonLab

/// The transports that take part.
package enum ChaosTransport: String, CaseIterable, Sendable, Codable {
    case apns
    case fcm
    case webPush = "webpush"
    case unifiedPush = "unifiedpush"

    /// What registrations and plugins call it.
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
