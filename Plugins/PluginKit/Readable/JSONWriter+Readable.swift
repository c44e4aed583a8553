extension JSONWriter {
    /// The members `title` and `message` for a person to read. A title alone is the message, which services want to have.
    public mutating func readableTexts(
        of notification: borrowing Notification,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        guard !notification.body.isEmpty else {
            key("message")
            lengths.title = string(notification.title, limit: limits.title)
            return lengths
        }
        if !notification.title.isEmpty {
            key("title")
            lengths.title = string(notification.title, limit: limits.title)
        }
        key("message")
        lengths.body = string(notification.body, limit: limits.body)
        return lengths
    }
}
