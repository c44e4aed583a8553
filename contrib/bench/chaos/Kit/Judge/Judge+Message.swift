import Notifications

extension Judge {
    /// What is wrong with a message that came for `device`; nil: nothing.
    static func flaw(
        in arrival: Arrival,
        for device: ChaosDevice?,
        _ id: String,
        _ notification: Notification
    ) -> String? {
        guard arrival.target == device?.target, arrival.transport == device?.transport else {
            return "it went to another device"
        }
        guard let texts = arrival.texts else {
            return "its message cannot be read: \(arrival.complaint ?? "it is no JSON")"
        }
        if let complaint = arrival.complaint { return complaint }
        guard texts.contains(notification.title), texts.contains(notification.body) else {
            return "its message has other texts"
        }
        // APNs has the id in a header, all others in the message.
        let hasID = arrival.transport == .apns ? arrival.messageID == id : texts.contains(id)
        return hasID ? nil : "its message has another id"
    }
}
