import Cipher
import PluginKit
import Units

/// A notification as Apple takes it, without recipient and credentials.
struct Push: Sendable {
    /// Apple's limit for `apns-collapse-id`, in bytes.
    private static let collapseIDLimit = 64

    let type: PushType
    let priority: Priority
    let payload: [UInt8]
    /// Pushes with the same id replace each other on the device. Only for pushes with content.
    let collapseID: String?
    /// `apns-expiration`, in seconds since 1970; 0: one attempt.
    let expiration: Int64
    /// `apns-id`, the same for all attempts; nil when Apple would refuse it.
    let id: String?

    /// `lifetime` is how long Apple keeps the push when the notification has no
    /// expiration.
    init(
        _ notification: borrowing Notification,
        as type: PushType,
        _ priority: Priority,
        _ payload: [UInt8],
        collapses: Bool = false,
        lifetime: Duration? = nil,
        now: Timestamp
    ) {
        self.type = type
        self.priority = priority
        self.payload = payload
        collapseID =
            collapses
            ? notification.collapseKey.headerValue(limit: Push.collapseIDLimit) { Base64URL.encode(SHA256.hash($0)) }
            : nil
        let expiresAt = notification.expiresAt ?? now + (lifetime ?? type.lifetime)
        // An expired push gets one attempt: 0.
        expiration = expiresAt > now ? expiresAt.seconds : 0
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

    /// The same push, which Apple does not keep for offline devices.
    var unkept: Push { Push(self, expiration: 0) }

    static func wake(_ notification: borrowing Notification, now: Timestamp) throws(PayloadError) -> Push {
        Push(notification, as: .background, .considerate, try WakePayload.make(notification), now: now)
    }

    /// A visible push that names neither author nor content. Nil without a text: an extension of the app runs only for
    /// an alert that has one.
    static func nudge(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
        guard notification.hasText else { return nil }
        return try alert(notification, block, payloads, now: now)
    }

    /// The sealed envelope, with a neutral text if there is one. Nil when nothing is sealed.
    static func sealed(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
        guard !notification.sealed.isEmpty else { return nil }
        guard notification.hasText else {
            return Push(notification, as: .background, .considerate, try SealedPayload.make(notification), now: now)
        }
        return try alert(notification, block, payloads, now: now)
    }

    /// The whole notification as an alert. `payloads` are of alerts alone.
    static func alert(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ payloads: RepeatedPayload,
        now: Timestamp
    ) throws(PayloadError) -> Push {
        // The block is read out of the notification, too.
        let payload = try payloads.payload(of: notification) { () throws(PayloadError) in
            try NotificationPayload.make(notification, block, as: .alert)
        }
        return Push(
            notification,
            as: .alert,
            block.priority ?? .usual(for: .alert, notification.urgency),
            payload,
            collapses: true,
            now: now
        )
    }

    /// The whole notification as a push of another type than alert and Live Activity. Nil when the registration lacks a
    /// field that the type needs.
    static func other(
        _ type: PushType,
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ registration: borrowing Registration,
        now: Timestamp
    ) throws(PayloadError) -> Push? {
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

    /// A start, update or end of a Live Activity. `limit` is the largest payload, in bytes.
    static func liveActivity(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ activity: LiveActivity,
        limit: Int = PushType.liveActivity.payloadLimit,
        lifetime: Duration? = nil,
        now: Timestamp
    ) throws(PayloadError) -> Push {
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
    /// Whether an alert would have a text.
    var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}
