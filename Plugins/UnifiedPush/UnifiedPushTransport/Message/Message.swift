import PluginKit

/// What the app on the device reads: a JSON object.
///
/// A wake-up is `{"t":"dm"}`, for several events `{"t":"batch","n":7}` (seed 004 section 2). A whole notification has
/// besides, each only where it is set, `id`, `title`, `subtitle`, `body`, `category`, `thread`, `url` and `actions` (a
/// list of `{"id","label","url"?,"icon"?}`), then the members of `data` and of the rule's own block. Of members of one
/// name the rule's block counts, else `data`, else ours.
struct Message {
    private let data: JSONObject
    private let native: JSONObject

    static func wake(_ notification: borrowing Notification) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        Message().writeSignal(notification, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// The whole notification in at most `limit` bytes.
    static func whole(_ notification: borrowing Notification, limit: Int) throws(MessageMistake) -> [UInt8] {
        let message = try Message(notification)
        guard let bytes = FittedPayload.make(limit: limit, { message.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return bytes
    }

    private init() {
        data = JSONObject()
        native = JSONObject()
    }

    private init(_ notification: borrowing Notification) throws(MessageMistake) {
        data = try Message.object(notification.data, or: .badData)
        native = try Message.object(notification.native, or: .badNative)
    }

    private static func object(_ text: BorrowedText, or mistake: MessageMistake) throws(MessageMistake) -> JSONObject {
        guard !text.isEmpty else { return JSONObject() }
        guard let object = try? JSONObject(parsing: text.bytes) else { throw mistake }
        return object
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        writeSignal(notification, to: &writer)
        write("id", notification.id, to: &writer)
        lengths.title = write("title", notification.title, to: &writer, limit: limits.title)
        write("subtitle", notification.subtitle, to: &writer)
        lengths.body = write("body", notification.body, to: &writer, limit: limits.body)
        write("category", notification.category, to: &writer)
        write("thread", notification.thread, to: &writer)
        write("url", notification.url, to: &writer)
        writeActions(notification, to: &writer)
        for index in 0..<data.count {
            let member = data.member(at: index)
            if !native.contains(nameOf: member) {
                writer.member(member)
            }
        }
        writer.members(of: native)
        writer.endObject()
        return lengths
    }

    private func isOverridden(_ name: StaticString) -> Bool {
        data.contains(name) || native.contains(name)
    }

    @discardableResult
    private func write(
        _ name: StaticString,
        _ text: BorrowedText,
        to writer: inout JSONWriter,
        limit: Int? = nil
    ) -> Int {
        guard !text.isEmpty, !isOverridden(name) else { return 0 }
        writer.key(name)
        return writer.string(text, limit: limit)
    }

    private func writeSignal(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        let isBatch = notification.count > 1
        if !isOverridden("t") {
            writer.key("t")
            if isBatch {
                writer.string("batch")
            } else {
                writer.string(notification.signal)
            }
        }
        if isBatch, !isOverridden("n") {
            writer.key("n")
            writer.integer(notification.count)
        }
    }

    private func writeActions(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard notification.hasActions, !isOverridden("actions") else { return }
        writer.key("actions")
        writer.beginArray()
        notification.forEachAction { writer.action($0) }
        writer.endArray()
    }
}
