internal import CarillonABI

/// How near the author of an event is to its recipient.
public enum FollowDistance: Sendable {
    /// The router did not find out.
    case unknown
    /// The recipient follows the author, or is the author.
    case followed
    /// Somebody whom the recipient follows does.
    case second
    case stranger
    /// The recipient does not; whether somebody whom the recipient follows does is not known.
    case notFollowed

    init(_ distance: carillon_follow_distance) {
        switch distance {
        case .CARILLON_DISTANCE_UNKNOWN: self = .unknown
        case .CARILLON_DISTANCE_FOLLOWED: self = .followed
        case .CARILLON_DISTANCE_SECOND: self = .second
        case .CARILLON_DISTANCE_STRANGER: self = .stranger
        case .CARILLON_DISTANCE_NOT_FOLLOWED: self = .notFollowed
        @unknown default: self = .unknown
        }
    }
}
