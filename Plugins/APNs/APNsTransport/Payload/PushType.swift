import PluginKit
import Units

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

    /// The part of the topic after the app's bundle id.
    var topicSuffix: String {
        switch self {
        // For device management, the certificate names the whole topic.
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

    /// Its position in `allCases`.
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

    /// Whether pushes of this type go to a token of their own.
    var hasOwnToken: Bool { self != .alert && self != .background }

    /// Whether the payload contains the texts, for the system or for the app.
    var carriesTexts: Bool {
        switch self {
        case .alert, .voip, .complication, .pushToTalk: true
        case .background, .location, .fileProvider, .mdm, .liveActivity, .widgets, .controls: false
        }
    }

    /// The largest payload, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// How long Apple keeps a push without an expiration. Nobody wants to be called for a call that is
    /// over, or to hear what somebody said an hour ago. Apple keeps only the latest push.
    var lifetime: Duration { self == .voip || self == .pushToTalk ? .zero : Self.day }

    private static let day: Duration = .days(1)

    /// The reason of an outcome when a token of this type is dead and no alert can replace the push.
    var reasonOfDeadToken: String {
        self == .liveActivity ? "live-activity-ended" : "\(rawValue)-token-dead"
    }
}

/// The values of `apns-priority`.
enum Priority: Int, Sendable {
    /// Saves the device's power; the device does not wake up.
    case low = 1
    case considerate = 5
    case immediate = 10

    var headerValue: String {
        switch self {
        case .low: "1"
        case .considerate: "5"
        case .immediate: "10"
        }
    }

    /// This priority, or the closest that Apple accepts for pushes of a type.
    func allowed(for type: PushType) -> Priority {
        switch type {
        case .background: .considerate
        case .liveActivity: self == .low ? .considerate : self
        case .pushToTalk: .immediate
        case .alert, .location, .voip, .complication, .fileProvider, .mdm, .widgets, .controls: self
        }
    }

    /// The priority when the rule names none. For types with a budget the device chooses the moment.
    static func usual(for type: PushType, _ urgency: Urgency) -> Priority {
        switch type {
        case .alert: urgency == .low ? .considerate : .immediate
        case .location, .voip, .complication, .mdm, .pushToTalk: .immediate
        case .background: .considerate
        case .fileProvider, .liveActivity, .widgets, .controls: urgency == .high ? .immediate : .considerate
        }
    }
}
