import PluginKit

/// What goes to Apple for a notification, but for the recipient and who sends it.
struct Push: Sendable {
    let type: PushType
    let priority: Priority
    let payload: [UInt8]
    /// Pushes of one id replace each other on the device; only where everything may be seen.
    let collapseID: String?
    /// `apns-expiration`: in seconds since 1970; 0: one attempt.
    let expiration: Int64
    /// The same over all attempts; nil when Apple would not take it for one.
    let id: String?

    /// `now` is in milliseconds since 1970; `lifetime` is how long Apple keeps it when the notification does not say.
    init(
        _ notification: borrowing Notification,
        as type: PushType,
        _ priority: Priority,
        _ payload: [UInt8],
        collapses: Bool = false,
        lifetime: Int64? = nil,
        now: Int64
    ) {
        self.type = type
        self.priority = priority
        self.payload = payload
        collapseID = collapses ? CollapseID.make(notification.collapseKey) : nil
        let expiresAt = notification.expiresAt.map { Int64(clamping: $0) } ?? now + (lifetime ?? type.lifetime)
        // What is over already gets one attempt, which Apple calls 0.
        expiration = expiresAt > now ? expiresAt / 1000 : 0
        id = MessageID.isCanonical(notification.id) ? notification.id.string : nil
    }

    private init(_ other: Push, expiration: Int64) {
        type = other.type
        priority = other.priority
        payload = other.payload
        collapseID = other.collapseID
        self.expiration = expiration
        id = other.id
    }

    /// The same, which Apple keeps for nobody who is off.
    var unkept: Push { Push(self, expiration: 0) }

    static func wake(_ notification: borrowing Notification, now: Int64) throws(PayloadMistake) -> Push {
        Push(notification, as: .background, .considerate, try WakePayload.make(notification), now: now)
    }

    /// A visible push that says neither who nor what. Nil when there is no text to show: an extension that fetches more
    /// runs only for an alert that has one.
    static func nudge(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        now: Int64
    ) throws(PayloadMistake) -> Push? {
        guard notification.hasText else { return nil }
        return try alert(notification, block, now: now)
    }

    /// The envelope, behind a neutral text where there is one. Nil when nothing is sealed.
    static func sealed(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        now: Int64
    ) throws(PayloadMistake) -> Push? {
        guard !notification.sealed.isEmpty else { return nil }
        guard notification.hasText else {
            return Push(notification, as: .background, .considerate, try SealedPayload.make(notification), now: now)
        }
        return try alert(notification, block, now: now)
    }

    /// As an alert: everything that the notification has.
    static func alert(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        now: Int64
    ) throws(PayloadMistake) -> Push {
        Push(
            notification,
            as: .alert,
            block.priority ?? .usual(for: .alert, notification.urgency),
            try NotificationPayload.make(notification, block, as: .alert),
            collapses: true,
            now: now
        )
    }

    /// Everything, as a push of a type that is no alert and no Live Activity. Nil when the registration lacks what it needs
    /// besides a token.
    static func other(
        _ type: PushType,
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> Push? {
        let payload: [UInt8]
        switch type {
        case .widgets, .controls: payload = ContentChangedPayload.bytes
        case .mdm:
            guard let made = MDMPayload.make(registration) else { return nil }
            payload = made
        default: payload = try NotificationPayload.make(notification, block, as: type)
        }
        let priority = block.priority ?? .usual(for: type, notification.urgency)
        return Push(notification, as: type, priority.allowed(for: type), payload, now: now)
    }

    /// What becomes of a Live Activity. `limit` is how large the payload may be, in bytes.
    static func liveActivity(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ activity: LiveActivity,
        limit: Int = PushType.liveActivity.payloadLimit,
        lifetime: Int64? = nil,
        now: Int64
    ) throws(PayloadMistake) -> Push {
        let usual = activity.alerts ? Priority.immediate : .usual(for: .liveActivity, notification.urgency)
        return Push(
            notification,
            as: .liveActivity,
            (block.priority ?? usual).allowed(for: .liveActivity),
            try LiveActivityPayload.make(notification, block, activity, limit: limit, now: now),
            lifetime: lifetime,
            now: now
        )
    }
}

extension Notification {
    /// Whether an alert would say anything.
    var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}
