package import PluginKit

extension Urgency {
    /// The value of `Urgency` (RFC 8030 section 5.3). `very-low`, which waits for power and Wi-Fi, is never meant.
    package var headerValue: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
