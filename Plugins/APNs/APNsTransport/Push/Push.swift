import PluginKit

/// What goes to Apple for a notification, but for the device, the provider token and the time.
struct Push {
    var type: PushType
    var priority: Priority
    var payload: [UInt8]
    /// Pushes of one id replace each other on the device; only where everything may be seen.
    var collapseID: String?
    /// Where it goes; nil: to the device token. Borrowed from the registration.
    var token: BorrowedText?

    static func wake(_ notification: borrowing Notification) throws(PayloadMistake) -> Push {
        Push(type: .background, priority: .considerate, payload: try WakePayload.make(notification))
    }

    /// Nil when there is no text to show: the extension that decrypts or fetches runs only for an alert that has one.
    static func nudge(_ notification: borrowing Notification) throws(PayloadMistake) -> Push? {
        guard notification.hasText else { return nil }
        return Push(
            type: .alert,
            priority: notification.urgency.priority,
            payload: try NudgePayload.make(notification)
        )
    }

    /// Nil when nothing is sealed, or no text stands in for it.
    static func sealed(_ notification: borrowing Notification) throws(PayloadMistake) -> Push? {
        guard notification.hasText, !notification.sealed.isEmpty else { return nil }
        return Push(
            type: .alert,
            priority: notification.urgency.priority,
            payload: try SealedPayload.make(notification)
        )
    }

    /// Everything, as the kind of push that the rule's block makes of it, or as an alert where the device takes no pushes of
    /// that kind. `now` is in milliseconds since 1970.
    static func whole(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        to registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> Push {
        switch block.pushType(hasText: notification.hasText) {
        case .alert: break
        case .background:
            let payload = try NotificationPayload.make(notification, block, as: .background)
            return Push(type: .background, priority: .considerate, payload: payload)
        case .liveActivity:
            guard let activity = block.liveActivity,
                let token = DeviceTokens(registration).liveActivity(activity.event)
            else { break }
            return try liveActivity(notification, block, activity, to: token, now: now)
        case .voip:
            guard let token = DeviceTokens(registration).voip else { break }
            let payload = try NotificationPayload.make(notification, block, as: .voip)
            return Push(type: .voip, priority: block.priority ?? .immediate, payload: payload, token: token)
        }
        return Push(
            type: .alert,
            priority: block.priority ?? notification.urgency.priority,
            payload: try NotificationPayload.make(notification, block, as: .alert),
            collapseID: CollapseID.make(notification.collapseKey)
        )
    }

    /// Updates that alert nobody leave the moment to the device, since there is a budget of the others.
    private static func liveActivity(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ activity: LiveActivity,
        to token: BorrowedText,
        now: Int64
    ) throws(PayloadMistake) -> Push {
        let isUrgent = activity.alerts || notification.urgency == .high
        return Push(
            type: .liveActivity,
            priority: (block.priority ?? (isUrgent ? .immediate : .considerate)).allowed(for: .liveActivity),
            payload: try LiveActivityPayload.make(notification, block, activity, now: now),
            token: token
        )
    }
}

extension Notification {
    /// Whether an alert would say anything.
    var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}

extension Urgency {
    /// What an alert has whose rule does not say.
    fileprivate var priority: Priority { self == .low ? .considerate : .immediate }
}
