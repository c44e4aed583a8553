import Notifications

/// Events that wait for a device to be woken again and will be one push, as the outbox keeps them.
package struct HeldRow: Sendable, Hashable {
    /// What the disk is to know of the notification for the first of them, or for the latest where only that counts.
    package enum Content: Sendable, Hashable {
        /// What it knows already.
        case asBefore
        /// Nothing: they are several, and will be told as a number.
        case none
        case notification(HeldNotification)
    }

    package var key: HeldKey
    package var nature: PushNature
    /// What belongs together where only the latest counts; nil: all count.
    package var mark: Int64?
    /// When the event was made that the notification is of, in seconds since 1970; 0 where all count.
    package var madeAt: Int64
    /// Whose device it is: 32 bytes.
    package var account: [UInt8]
    /// The id of the first event: 32 bytes.
    package var event: [UInt8]
    package var isMessage: Bool
    /// Whether they wait for the end of the window too.
    package var hasOverflowed: Bool
    package var signal: Signal
    package var mode: Mode
    package var urgency: Urgency
    package var count: UInt32
    /// When the first one came, in milliseconds since 1970.
    package var since: Int64
    /// When none of them is worth telling any more, in milliseconds since 1970; 0: never.
    package var expiresAt: Int64
    package var content: Content

    package init(
        key: HeldKey,
        account: [UInt8],
        event: [UInt8],
        isMessage: Bool,
        hasOverflowed: Bool,
        signal: Signal,
        mode: Mode,
        urgency: Urgency,
        count: UInt32,
        since: Int64,
        expiresAt: Int64,
        content: Content,
        nature: PushNature = .alert,
        mark: Int64? = nil,
        madeAt: Int64 = 0
    ) {
        self.key = key
        self.nature = nature
        self.mark = mark
        self.madeAt = madeAt
        self.account = account
        self.event = event
        self.isMessage = isMessage
        self.hasOverflowed = hasOverflowed
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.count = count
        self.since = since
        self.expiresAt = expiresAt
        self.content = content
    }
}
