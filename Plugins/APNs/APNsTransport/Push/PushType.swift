/// The values of `apns-push-type` ("Sending notification requests to APNs").
enum PushType: String, Sendable, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// What the topic has after the app's bundle id.
    var topicSuffix: String {
        switch self {
        // The topic of device management is the one that the certificate names.
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Its place among all.
    var index: Int {
        switch self {
        case .alert: 0
        case .background: 1
        case .location: 2
        case .voip: 3
        case .complication: 4
        case .fileProvider: 5
        case .mdm: 6
        case .liveActivity: 7
        case .pushToTalk: 8
        case .widgets: 9
        case .controls: 10
        }
    }

    /// Whether it goes to a token of its own.
    var hasOwnToken: Bool { self != .alert && self != .background }

    /// Whether the app is told the texts: by what the system shows, or to make something of them itself.
    var carriesTexts: Bool {
        switch self {
        case .alert, .voip, .complication, .pushToTalk: true
        case .background, .location, .fileProvider, .mdm, .liveActivity, .widgets, .controls: false
        }
    }

    /// How large a payload may be, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// How long Apple keeps one that does not say, in milliseconds: a day, but nobody wants to be called for a call that
    /// is over, or to hear what somebody said an hour ago. Apple keeps only the latest one.
    var lifetime: Int64 { self == .voip || self == .pushToTalk ? 0 : 86_400_000 }
}
