/// One event for one recipient, as a filter is asked about it.
package struct FilterQuestion: Sendable {
    /// The verified event, as JSON.
    package var event: [UInt8]
    /// The account, 64 hex digits.
    package var recipient: String
    /// The recipient's newest known event of each kind that the filter wants, as JSON.
    package var recipientEvents: [[UInt8]]
    package var signal: Signal
    /// What the event is to the recipient, in the word that rules use; empty: nothing that has a word.
    package var relation: String
    /// Whose doing the event is, 64 hex digits; empty when nobody can tell, as of a gift wrap.
    package var author: String
    /// What a zap is worth; 0: it is none, or nobody knows.
    package var zapMillisats: UInt64
    package var followDistance: FollowDistance
    /// In milliseconds since 1970.
    package var now: Int64
    /// What would be sent; only for filters that are asked after rendering.
    package var notification: Notification?

    package init(
        event: [UInt8],
        recipient: String,
        recipientEvents: [[UInt8]] = [],
        signal: Signal,
        relation: String = "",
        author: String = "",
        zapMillisats: UInt64 = 0,
        followDistance: FollowDistance = .unknown,
        now: Int64,
        notification: Notification? = nil
    ) {
        self.event = event
        self.recipient = recipient
        self.recipientEvents = recipientEvents
        self.signal = signal
        self.relation = relation
        self.author = author
        self.zapMillisats = zapMillisats
        self.followDistance = followDistance
        self.now = now
        self.notification = notification
    }
}

/// What a filter made of an event.
package enum FilterVerdict: Sendable, Hashable {
    case pass
    /// It may go out so; only after rendering.
    case edited(Notification)
    /// `reason`: at most 60 printable ASCII bytes, never content; empty: it gave none.
    case drop(reason: String)
    /// It could not decide; `reason` is for the log, and never content.
    case failed(reason: String)
}

/// What a filter has to know of whom the recipient follows.
package enum FollowNeed: Int, Sendable, Hashable, Comparable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether somebody whom the recipient follows does, which relays may have to be asked.
    case distance

    package static func < (left: FollowNeed, right: FollowNeed) -> Bool { left.rawValue < right.rawValue }
}

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
