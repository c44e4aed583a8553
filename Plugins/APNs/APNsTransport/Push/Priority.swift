import PluginKit

/// The values of `apns-priority`.
enum Priority: Int, Sendable {
    /// The device's power comes first, and nothing wakes it.
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

    /// This one, or the next that Apple takes for pushes of that type.
    func allowed(for type: PushType) -> Priority {
        switch type {
        case .background: .considerate
        case .liveActivity: self == .low ? .considerate : self
        case .pushToTalk: .immediate
        case .alert, .location, .voip, .complication, .fileProvider, .mdm, .widgets, .controls: self
        }
    }

    /// What a push has whose rule does not say. What Apple gives out by a budget leaves the moment to the device.
    static func usual(for type: PushType, _ urgency: Urgency) -> Priority {
        switch type {
        case .alert: urgency == .low ? .considerate : .immediate
        case .location, .voip, .complication, .mdm, .pushToTalk: .immediate
        case .background: .considerate
        case .fileProvider, .liveActivity, .widgets, .controls: urgency == .high ? .immediate : .considerate
        }
    }
}
