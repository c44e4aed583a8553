/// What a filter has to know of whom the recipient follows.
package enum FollowNeed: Int, Sendable, Hashable, Comparable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether somebody whom the recipient follows does, which relays may have to be asked.
    case distance

    package static func < (left: FollowNeed, right: FollowNeed) -> Bool { left.rawValue < right.rawValue }
}
