/// The values of `apns-push-type` ("Sending notification requests to APNs").
enum APNsPushType: String, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// What the topic has after the bundle id.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// What a topic has after the bundle id, as far as that is one of Apple's endings.
    static func suffix(of topic: String) -> String {
        allCases.map(\.topicSuffix).first { !$0.isEmpty && topic.hasSuffix($0) } ?? ""
    }

    /// Goes to people who hold a certificate as well as to those who hold a key.
    var takesCertificates: Bool { self != .location }

    /// In bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }
}
