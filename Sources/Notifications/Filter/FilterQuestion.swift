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
