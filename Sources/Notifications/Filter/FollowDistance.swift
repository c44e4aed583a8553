/// How near the author of an event is to its recipient, by the newest contact lists (kind 3) that are known; the values are
/// the ABI's `carillon_follow_distance`.
package enum FollowDistance: Int32, Sendable, Hashable {
    /// Nobody asked, or nobody has the recipient's list.
    case unknown = 0
    /// The recipient follows the author, or is the author.
    case followed = 1
    /// Somebody whom the recipient follows does.
    case second = 2
    case stranger = 3
    /// The recipient does not; whether somebody whom the recipient follows does was not asked, or could not be found out.
    case notFollowed = 4
}
