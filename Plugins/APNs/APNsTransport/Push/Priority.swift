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
        case .alert, .voip: self
        }
    }
}
