/// Why a device is not woken at once.
package enum HoldReason: String, Sendable, CaseIterable {
    /// The last push was a moment ago.
    case cooldown
    /// The window had its matches.
    case window
    /// The device's quiet hours.
    case quiet
    /// The day had its pushes.
    case cap
    /// The hour had its silent pushes.
    case silentBudget = "silent-budget"
    /// The last push has not found its end.
    case underWay = "under-way"
    /// The outbox has no room for more of what goes to its push service, or to the host it is at.
    case behind

    /// What stands against a push, in words that a person understands.
    package var words: String {
        switch self {
        case .cooldown: "the device was woken a moment ago"
        case .window: "the device was woken often in this window of time"
        case .quiet: "the device's quiet hours"
        case .cap: "the device has had its pushes of the day (UTC)"
        case .silentBudget: "the device has had its background pushes of the hour"
        case .underWay: "the last push to the device is under way"
        case .behind: "the push service is behind with what it has to take"
        }
    }
}
