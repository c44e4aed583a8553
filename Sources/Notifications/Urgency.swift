/// How soon a device should be bothered; the values are the ABI's `carillon_urgency`.
package enum Urgency: Int32, Sendable, Codable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2

    /// The word that rules use.
    package var name: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
