import PluginKit

/// `data` and `notification` of a message with content.
///
/// An app that draws gets as `data`, if set: `t`, `n`, `id`, `title`, `subtitle`, `body`, `category`, `thread`, `url`
/// and `actions` (a list of `{"id","label","url"?,"icon"?}` as a string), the members of the notification's data and
/// those of the block's `notification`, all as strings. If several have the same name, the block overrides the data,
/// and the data overrides ours. If FCM draws, title and body are in `notification`, and the block's `notification` is
/// in the `AndroidConfig`.
struct AlertContent {
    let block: AndroidBlock
    private let data: JSONObject
    private let namesDelivery: Bool

    /// Makes the content; `usual` is the style if the block sets none.
    init(_ notification: borrowing Notification, usual: AndroidBlock.Style = .data) throws(MessageError) {
        block = try AndroidBlock(parsing: notification.native, usual: usual)
        namesDelivery = notification.mode == .alert
        do throws(JSONError) {
            data = try notification.data.jsonObject()
        } catch {
            throw .badData
        }
        if block.style == .notification {
            let shows =
                !notification.title.isEmpty || !notification.body.isEmpty || block.notification.contains("title")
                || block.notification.contains("titleLocKey") || block.notification.contains("body")
                || block.notification.contains("bodyLocKey")
            guard shows else { throw .empty }
        }
    }

    func write(
        _ notification: borrowing Notification,
        to writer: inout MessageWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        if block.style == .notification {
            writeShown(notification, to: &writer, within: limits, &lengths)
        }
        writer.json.key("data")
        writer.json.beginObject()
        writeOwn(notification, to: &writer, within: limits, &lengths)
        writeData(to: &writer, within: limits, &lengths)
        if block.style == .data {
            for index in 0..<block.notification.count {
                write(block.notification.member(at: index), of: block.notification, to: &writer)
            }
        }
        writer.json.endObject()
        return lengths
    }

    /// Writes the visible texts. On the device a text overrides its localization key, so only one of them is written.
    private func writeShown(
        _ notification: borrowing Notification,
        to writer: inout MessageWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        writer.json.key("notification")
        writer.json.beginObject()
        if !block.notification.contains("title"), !block.notification.contains("titleLocKey") {
            lengths.title = writer.text("title", notification.title, limit: limits.title)
        }
        if !block.notification.contains("body"), !block.notification.contains("bodyLocKey") {
            lengths.body = writer.text("body", notification.body, limit: limits.body)
        }
        writer.json.endObject()
    }

    private func writeOwn(
        _ notification: borrowing Notification,
        to writer: inout MessageWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        if notification.count > 1 {
            if isOurs("t") { writer.text("t", "batch") }
            if isOurs("n") { writer.text("n", String(notification.count)) }
        } else if isOurs("t") {
            writer.text("t", notification.signal)
        }
        if namesDelivery, isOurs("id") { writer.text("id", notification.id) }
        if block.style == .data, isOurs("title") {
            lengths.title = writer.text("title", notification.title, limit: limits.title)
        }
        if isOurs("subtitle") {
            lengths.subtitle = writer.text("subtitle", notification.subtitle, limit: limits.subtitle)
        }
        if block.style == .data, isOurs("body") {
            lengths.body = writer.text("body", notification.body, limit: limits.body)
        }
        if isOurs("category") { writer.text("category", notification.category) }
        if isOurs("thread") { writer.text("thread", notification.thread) }
        if isOurs("url") { writer.text("url", notification.url) }
        if isOurs("actions"), let actions = notification.actionsJSON() { writer.text("actions", actions) }
    }

    private func writeData(
        to writer: inout MessageWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        for index in 0..<data.count {
            let member = data.member(at: index)
            if block.style == .data, block.notification.contains(nameOf: member) { continue }
            if member.value.textLength > 0, member.key == "referenced_event_content" {
                lengths.referencedContent =
                    writer.text("referenced_event_content", member.value, limit: limits.referencedContent)
            } else {
                write(member, of: data, to: &writer)
            }
        }
    }

    /// Writes a member, under another name if FCM reserves its name. Omits it if that name is taken.
    private func write(_ member: JSONMember, of object: JSONObject, to writer: inout MessageWriter) {
        let name = member.key
        guard ReservedName.contains(name) else { return writer.data(member) }
        let substitute = ReservedName.substitute(for: name)
        guard !object.contains(named: substitute) else { return }
        writer.data(member, as: substitute)
    }

    private func isOurs(_ name: StaticString) -> Bool {
        !data.contains(name) && !(block.style == .data && block.notification.contains(name))
    }
}

/// Names in `data` that FCM refuses, or that its library on the device reserves.
enum ReservedName {
    static func contains(_ name: String) -> Bool {
        name == "from" || name == "message_type" || name == "collapse_key" || name.hasPrefix("google")
            || name.hasPrefix("gcm")
    }

    /// Returns the name to send instead: with an underscore in front.
    static func substitute(for name: String) -> String { "_" + name }
}
