internal import CarillonABI

/// What a filter has to know of whom the recipient follows; the router finds it out before it asks.
public enum FollowNeed: Sendable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether somebody whom the recipient follows does. Relays may have to be asked, and the event waits meanwhile.
    case distance

    var flags: UInt32 {
        switch self {
        case .nothing: 0
        case .followed: UInt32(CARILLON_FILTER_ASKS_FOLLOWED)
        case .distance: UInt32(CARILLON_FILTER_ASKS_DISTANCE)
        }
    }
}
