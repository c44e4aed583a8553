import PluginKit

extension Urgency {
    /// Gotify's priority, from 0 to 10: its Android app is silent below 4 and vibrates from 8 on.
    var gotifyPriority: Int {
        switch self {
        case .low: 2
        case .normal: 5
        case .high: 8
        }
    }
}
