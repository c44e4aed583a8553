/// What became of an event that was fed.
package enum FeedAnswer: Sendable, Hashable {
    /// It was dealt with, whether or not it wakes anybody.
    case taken
    /// It is no event that anybody could take, for this reason, which must not quote it.
    case refused(String)
    /// It could not be dealt with now; the feed comes with it again.
    case notNow
}
