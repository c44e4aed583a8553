/// What a wake-up says where a person reads it and not an app: `wake_message` and `batch_message` of a platform's
/// block.
public struct WakeTexts: Sendable {
    /// Stands for the number of events in `batch_message`.
    private static let placeholder = "{n}"
    private static let limit = 200

    private let single: String
    private let batch: String

    /// Throws for a text that is empty or longer than 200 bytes.
    public init(_ block: JSONObject) throws(PluginError) {
        single = try WakeTexts.text(block, "wake_message") ?? "New notification"
        batch = try WakeTexts.text(block, "batch_message") ?? "{n} new notifications"
    }

    /// The text for so many events.
    public func text(count: UInt32) -> String {
        guard count > 1 else { return single }
        guard let place = batch.firstRange(of: WakeTexts.placeholder) else { return batch }
        return batch[..<place.lowerBound] + String(count) + batch[place.upperBound...]
    }

    private static func text(_ block: JSONObject, _ key: StaticString) throws(PluginError) -> String? {
        let expected = "a text of 1 to \(limit) bytes"
        guard let text = try block.text(key, expected: expected) else { return nil }
        guard (1...limit).contains(text.utf8.count) else { throw PluginError("\(key): expected \(expected)") }
        return text
    }
}

extension JSONWriter {
    /// The members `title` and `message` for a person to read. A title alone is the message, which services want to
    /// have.
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

/// Why a notification cannot become a message for a person; the raw value labels an outcome.
public enum ReadableMessageError: String, Error {
    /// The rule's block is no JSON object.
    case badNative = "bad-native"
    /// A text would lead to another address than the one described.
    case badURL = "bad-url"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// More than a message may have, however short the texts are made.
    case tooLarge = "payload-too-large"
}
