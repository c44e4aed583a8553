import Core

/// A question to a filter about one event and one recipient.
package struct FilterQuestion: Sendable {
    /// The verified event, as JSON.
    package var event: [UInt8]
    /// The account, 64 hex digits.
    package var recipient: String
    /// The recipient's newest known event of each kind that the filter wants, as JSON.
    package var recipientEvents: [[UInt8]]
    package var signal: Signal
    /// The relation of the event to the recipient, named as in rules; empty if there is none.
    package var relation: String
    /// The person who caused the event, 64 hex digits; empty if unknown, as for a gift wrap.
    package var author: String
    /// The value of a zap; 0 for other events or if unknown.
    package var zapMillisats: UInt64
    package var followDistance: FollowDistance
    package var now: Timestamp
    /// The notification to send; only for filters that run after rendering.
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
        now: Timestamp,
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

/// A filter's answer.
package enum FilterDecision: Sendable, Hashable {
    case pass
    /// Send this notification instead; only after rendering.
    case edited(Notification)
    /// `reason` has at most 60 printable ASCII bytes and no content; empty if the filter gave none.
    case drop(reason: String)
    /// The filter failed. `reason` is for the log and contains no content.
    case failed(reason: String)
}

/// The contact lists that a filter needs.
package enum FollowNeed: Int, Sendable, Hashable, Comparable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether any account that the recipient follows does. This may require asking relays.
    case distance

    package static func < (left: FollowNeed, right: FollowNeed) -> Bool { left.rawValue < right.rawValue }
}

/// The distance from an event's recipient to its author in the newest known contact lists (kind 3). The values are the
/// ABI's `carillon_follow_distance`.
package enum FollowDistance: Int32, Sendable, Hashable {
    /// Not needed, or the recipient's list is unknown.
    case unknown = 0
    /// The recipient follows the author, or is the author.
    case followed = 1
    /// An account that the recipient follows follows the author.
    case second = 2
    case stranger = 3
    /// The recipient does not follow the author. It is unknown whether accounts that the recipient follows do.
    case notFollowed = 4
}
