import PluginKit

extension Urgency {
    /// ntfy's priority, from 1 to 5: below 3 makes no sound, above it insists.
    var ntfyPriority: Int {
        switch self {
        case .low: 2
        case .normal: 3
        case .high: 4
        }
    }
}
