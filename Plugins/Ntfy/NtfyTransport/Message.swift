import PluginKit

/// A message in ntfy's JSON format. Unlike in the format with headers, no text can change other fields.
struct Message {
    /// The maximum size in bytes. ntfy turns longer texts into attachments, which not every server supports.
    static let limit = 4096
    /// The maximum number of buttons that ntfy shows.
    static let buttonLimit = 3

    private let topic: String
    private let native: JSONObject

    /// Returns a message that something happened.
    static func wake(
        _ notification: borrowing Notification,
        topic: String,
        _ text: String
    ) throws(ReadableMessageError) -> [UInt8] {
        let message = try Message(notification, topic: topic)
        var writer = JSONWriter(reservingBytes: 128)
        writer.beginObject()
        writer.key("topic")
        writer.string(topic)
        writer.key("message")
        writer.string(text)
        writer.key("priority")
        message.writePriority(notification, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// Returns a message with title, text, link and buttons.
    static func readable(_ notification: borrowing Notification, topic: String) throws(ReadableMessageError) -> [UInt8]
    {
        guard !notification.title.isEmpty || !notification.body.isEmpty else { throw .empty }
        let message = try Message(notification, topic: topic)
        guard let bytes = FittedPayload.make(limit: limit, { message.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return bytes
    }

    private init(_ notification: borrowing Notification, topic: String) throws(ReadableMessageError) {
        self.topic = topic
        guard !notification.native.isEmpty else {
            native = JSONObject()
            return
        }
        guard let native = try? JSONObject(parsing: notification.native.bytes) else { throw .badNative }
        self.native = native
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        writer.beginObject()
        writer.key("topic")
        writer.string(topic)
        let lengths = writer.readableTexts(of: notification, within: limits)
        writer.key("priority")
        writePriority(notification, to: &writer)
        if !notification.url.isEmpty, !native.contains("click") {
            writer.key("click")
            writer.string(notification.url)
        }
        writeButtons(notification, to: &writer)
        writeNative(to: &writer)
        writer.endObject()
        return lengths
    }

    /// Writes buttons that open their URL, or the notification's. A button with neither is omitted.
    private func writeButtons(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard !native.contains("actions") else { return }
        let fallback = notification.url
        var isOpen = false
        var left = Message.buttonLimit
        notification.forEachAction { action in
            let url = action.url.isEmpty ? fallback : action.url
            guard left > 0, !url.isEmpty else { return }
            left -= 1
            if !isOpen {
                writer.key("actions")
                writer.beginArray()
                isOpen = true
            }
            writer.beginObject()
            writer.key("action")
            writer.string("view")
            writer.key("label")
            writer.string(action.label)
            writer.key("url")
            writer.string(url)
            writer.endObject()
        }
        if isOpen {
            writer.endArray()
        }
    }

    /// Writes the rule's block without the members that name topic and texts.
    private func writeNative(to writer: inout JSONWriter) {
        for index in 0..<native.count {
            let member = native.member(at: index)
            if !["topic", "title", "message", "priority"].contains(member.key) {
                writer.member(member)
            }
        }
    }

    private func writePriority(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        if let priority = native["priority"] {
            writer.value(priority)
        } else {
            writer.integer(notification.urgency.ntfyPriority)
        }
    }
}

extension Urgency {
    /// ntfy's priority, from 1 to 5: below 3 is silent, above 3 is insistent.
    var ntfyPriority: Int {
        switch self {
        case .low: 2
        case .normal: 3
        case .high: 4
        }
    }
}
