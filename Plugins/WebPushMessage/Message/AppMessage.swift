package import PluginKit

/// What an app that was woken reads: a JSON object.
///
/// A wake-up is `{"t":"dm"}`, for several events `{"t":"batch","n":7}` (seed 004 section 2); a nudge has neutral texts
/// besides, and all but `id` of what follows, as far as that is neutral. A whole notification has, each only where it
/// is set, `t`, `n`, `id`, `title`, `subtitle`, `body`, `category`, `thread`, `url` and `actions` (a list of
/// `{"id","label","url"?,"icon"?}`), then the members of `data` and of the rule's own block; of members of one name the
/// rule's block counts, else `data`, else ours. What the host encrypted is `{"sealed":{…}}`.
package struct AppMessage {
    private let members: MessageMembers

    /// The message in at most `limit` bytes.
    package static func make(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        switch form {
        case .wake: return try wake(notification, limit: limit)
        case .envelope: return try envelope(notification, limit: limit)
        case .nudge, .sealed, .alert:
            let native = try notification.native.object(or: .badNative)
            let message = AppMessage(members: try MessageMembers(notification, native: native))
            return try message.fitted(notification, form, limit: limit)
        }
    }

    /// That something happened, and how often.
    private static func wake(
        _ notification: borrowing Notification,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        MessageMembers().writeSignal(notification, to: &writer)
        writer.endObject()
        guard writer.bytes.count <= limit else { throw .tooLarge }
        return writer.bytes
    }

    /// `{"sealed":{…}}` around what the host encrypted.
    package static func envelope(
        _ notification: borrowing Notification,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: notification.sealed.count + 16)
        writer.beginObject()
        writer.key("sealed")
        writer.object(try notification.sealed.object(or: .badEnvelope))
        writer.endObject()
        guard writer.bytes.count <= limit else { throw .tooLarge }
        return writer.bytes
    }

    private func fitted(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        let bytes = FittedPayload.make(limit: limit) { writer, limits in
            write(notification, form, to: &writer, within: limits)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private func write(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        members.writeSignal(notification, to: &writer)
        if form != .nudge {
            members.writeText("id", notification.id, to: &writer)
        }
        lengths.title = members.writeText("title", notification.title, to: &writer, limit: limits.title)
        lengths.subtitle = members.writeText("subtitle", notification.subtitle, to: &writer, limit: limits.subtitle)
        lengths.body = members.writeText("body", notification.body, to: &writer, limit: limits.body)
        members.writeText("category", notification.category, to: &writer)
        members.writeText("thread", notification.thread, to: &writer)
        members.writeText("url", notification.url, to: &writer)
        members.writeActions(notification, to: &writer)
        lengths.referencedContent = members.writeOthers(to: &writer, referencedContent: limits.referencedContent)
        writer.endObject()
        return lengths
    }
}
