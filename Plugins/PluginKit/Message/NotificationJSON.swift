import Core

/// The rendered notification as a JSON object, for programs to read.
///
/// It contains only fields of the notification's mode, because the router omits what a stricter mode must not show.
/// Members of the rule's block are at the same level as the message's own members and must have other names.
package enum NotificationJSON {
    /// The maximum size in bytes. Standard Webhooks asks senders to stay below 20 KB.
    package static let limit = 20_000
    /// The names of the message's own members.
    private static let names: [StaticString] = [
        "id", "mode", "signal", "count", "urgency", "expires_at", "recipient", "title", "subtitle", "body", "category",
        "thread", "collapse_key", "url", "actions", "data", "sealed",
    ]

    /// Throws if a rule's block uses the name of one of the message's own members.
    package static func check(_ block: JSONObject) throws(PluginError) {
        if let name = names.first(where: block.contains) {
            throw PluginError(at: "/\(name)", "expected a name that the message does not use")
        }
    }

    /// Returns the bytes to send. `recipient` identifies the device to the app's server; nil if the URL does.
    package static func make(
        _ notification: borrowing Notification,
        recipient: String? = nil
    ) throws(ReadableMessageError) -> [UInt8] {
        guard let data = try? notification.data.jsonObject(), let sealed = try? notification.sealed.jsonObject(),
            let native = try? notification.native.jsonObject()
        else { throw .badNative }
        let block = native.removing(names)
        let bytes = FittedPayload.make(limit: limit) { writer, limits in
            writer.beginObject()
            writeHead(notification, recipient, to: &writer)
            let lengths = writeContent(notification, data, to: &writer, within: limits)
            if !sealed.isEmpty {
                writer.key("sealed")
                writer.object(sealed)
            }
            writer.members(of: block)
            writer.endObject()
            return lengths
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private static func writeHead(
        _ notification: borrowing Notification,
        _ recipient: String?,
        to writer: inout JSONWriter
    ) {
        writer.member("id", notification.id)
        writer.key("mode")
        writer.string(notification.mode?.word ?? "")
        writer.member("signal", notification.signal)
        if notification.count > 0 {
            writer.key("count")
            writer.integer(notification.count)
        }
        writer.key("urgency")
        writer.string(notification.urgency.word)
        if let expiresAt = notification.expiresAt {
            writer.key("expires_at")
            writer.integer(expiresAt.seconds)
        }
        if let recipient {
            writer.key("recipient")
            writer.string(recipient)
        }
    }

    private static func writeContent(
        _ notification: borrowing Notification,
        _ data: JSONObject,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        lengths.title = writer.member("title", notification.title, limit: limits.title)
        lengths.subtitle = writer.member("subtitle", notification.subtitle, limit: limits.subtitle)
        lengths.body = writer.member("body", notification.body, limit: limits.body)
        writer.member("category", notification.category)
        writer.member("thread", notification.thread)
        writer.member("collapse_key", notification.collapseKey)
        writer.member("url", notification.url)
        if notification.hasActions {
            writer.key("actions")
            writer.actions(of: notification)
        }
        if !data.isEmpty {
            writer.key("data")
            writer.beginObject()
            lengths.referencedContent = writer.members(ofData: data, referencedContent: limits.referencedContent)
            writer.endObject()
        }
        return lengths
    }
}

extension Mode {
    fileprivate var word: String {
        switch self {
        case .wake: "wake"
        case .nudge: "nudge"
        case .sealed: "sealed"
        case .alert: "alert"
        }
    }
}

extension Urgency {
    fileprivate var word: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
