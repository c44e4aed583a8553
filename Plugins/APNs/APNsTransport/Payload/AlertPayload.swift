import PluginKit

/// A visible notification: `aps` with the texts and Apple's own keys, and beside it the category and the app's keys
/// (seed 000), and what taps open (seed 002).
///
/// Where two say the same key, what the operator wrote by hand wins: a member of `native` over one of `aps`, a member of
/// its `alert` over a text, a member of `data` over `category` and `body`.
struct AlertPayload {
    /// Apple's limit for everything but calls, in bytes.
    static let limit = 4096
    /// iOS shows no more buttons.
    static let actionLimit = 4

    private let data: JSONObject
    private let native: JSONObject
    /// The members of `native`'s `alert`, when that is an object.
    private let nativeAlert: JSONObject?

    /// The payload of `notification` in at most 4096 bytes.
    static func make(_ notification: borrowing Notification) throws(PayloadMistake) -> [UInt8] {
        let payload = try AlertPayload(notification)
        guard hasText(notification) || payload.nativeIsVisible else { throw .empty }
        guard let bytes = FittedPayload.make(limit: limit, { payload.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return bytes
    }

    private init(_ notification: borrowing Notification) throws(PayloadMistake) {
        data = try AlertPayload.object(notification.data, or: .badData)
        native = try AlertPayload.object(notification.native, or: .badNative)
        guard !data.contains("aps") else { throw .dataHasAPS }
        if let alert = native["alert"], alert.isObject {
            guard let object = alert.object else { throw .badNative }
            nativeAlert = object
        } else {
            nativeAlert = nil
        }
    }

    private static func object(_ text: BorrowedText, or mistake: PayloadMistake) throws(PayloadMistake) -> JSONObject {
        guard !text.isEmpty else { return JSONObject() }
        guard let object = try? JSONObject(parsing: text.bytes) else { throw mistake }
        return object
    }

    /// Apple may drop an alert push with none of these.
    private var nativeIsVisible: Bool {
        native.contains("alert") || native.contains("badge") || native.contains("sound")
    }

    private static func hasText(_ notification: borrowing Notification) -> Bool {
        !notification.title.isEmpty || !notification.subtitle.isEmpty || !notification.body.isEmpty
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        let lengths = writeAlert(notification, to: &writer, within: limits)
        if !notification.thread.isEmpty, !native.contains("thread-id") {
            writer.key("thread-id")
            writer.string(notification.thread)
        }
        if notification.hasActions, !native.contains("mutable-content") {
            // Buttons are made on the device, by an extension that only this key starts.
            writer.key("mutable-content")
            writer.integer(1)
        }
        writeNative(to: &writer)
        writer.endObject()
        if !notification.category.isEmpty, !data.contains("category") {
            writer.key("category")
            writer.string(notification.category)
        }
        if !notification.url.isEmpty || notification.hasActions, !data.contains("body") {
            writeTaps(notification, to: &writer)
        }
        writer.members(of: data)
        writer.endObject()
        return lengths
    }

    /// The rule's block, but for an `alert` whose members are in ours.
    private func writeNative(to writer: inout JSONWriter) {
        guard nativeAlert != nil else { return writer.members(of: native) }
        for index in 0..<native.count {
            let member = native.member(at: index)
            if member.key != "alert" {
                writer.member(member)
            }
        }
    }

    private func writeAlert(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        guard nativeAlert != nil || (!native.contains("alert") && AlertPayload.hasText(notification)) else {
            return lengths
        }
        let overrides = nativeAlert ?? JSONObject()
        writer.key("alert")
        writer.beginObject()
        if !notification.title.isEmpty, !overrides.contains("title") {
            writer.key("title")
            lengths.title = writer.string(notification.title, limit: limits.title)
        }
        if !notification.subtitle.isEmpty, !overrides.contains("subtitle") {
            writer.key("subtitle")
            writer.string(notification.subtitle)
        }
        if !notification.body.isEmpty, !overrides.contains("body") {
            writer.key("body")
            lengths.body = writer.string(notification.body, limit: limits.body)
        }
        writer.members(of: overrides)
        writer.endObject()
        return lengths
    }

    /// What a tap and the buttons open (seed 002, "Dynamic Action Buttons").
    private func writeTaps(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        writer.key("body")
        writer.beginObject()
        writer.key("_k")
        writer.string(notification.id)
        if !notification.url.isEmpty {
            writer.key("url")
            writer.string(notification.url)
        }
        if notification.hasActions {
            writer.key("action_buttons")
            writer.beginArray()
            notification.forEachAction(limit: AlertPayload.actionLimit) { writer.action($0) }
            writer.endArray()
        }
        writer.endObject()
    }
}
