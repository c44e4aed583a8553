import Notifications
import Registry

/// A push by which an operator sees whether a device can be reached. It belongs to no event, and no outcome of it changes the
/// registration.
struct TestPush {
    /// How long a push service may try, in milliseconds: whoever tests is waiting.
    private static let lifetime: Int64 = 300_000

    let mode: Mode
    /// Milliseconds since 1970.
    let now: Int64

    /// What to say. Its texts are the same in every language: nobody but the operator is meant.
    var notification: Notifications.Notification {
        let texts = NeutralTexts(title: "Carillon", body: "This is a test.")
        var notification =
            switch mode {
            case .wake: Notifications.Notification.wake(.mention, urgency: .high)
            case .nudge: Notifications.Notification.nudge(.mention, urgency: .high, texts)
            case .sealed, .alert:
                Notifications.Notification(
                    mode: mode,
                    signal: .mention,
                    urgency: .high,
                    title: texts.title,
                    body: texts.body,
                    neutral: texts
                )
            }
        notification.expiresAt = now + Self.lifetime
        return notification
    }
}
