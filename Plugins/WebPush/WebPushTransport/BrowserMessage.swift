import PluginKit
import WebPushMessage

/// The message for the app's service worker, or for the browser itself if it supports Declarative Web Push.
///
/// A wake-up is `{"t":"dm"}`. A visible message has `t` and `notification`, the argument of
/// `ServiceWorkerRegistration.showNotification`; `web_push: 8030` lets a browser show it by itself, and its `data` is
/// what the app needs after a tap. A host's envelope is `{"sealed":{…}}`, or in `notification.data`.
struct BrowserMessage {
    /// Browsers show fewer.
    private static let actionLimit = 4

    /// A message as bytes that are not encrypted yet.
    struct Content {
        let bytes: [UInt8]
        /// Whether a browser can show it by itself.
        let isDeclarative: Bool

        /// The explainer of Declarative Web Push proposes a type by which it can be told before it is decrypted.
        var type: String { isDeclarative ? "application/notification+json" : "application/octet-stream" }
    }

    private let form: MessageForm
    private let block: WebPushBlock
    private let data: MessageMembers
    private let sealed: JSONObject?
    /// What a tap opens; empty: the app decides.
    private let navigate: String
    private let isDeclarative: Bool

    /// Makes a message of at most `limit` bytes. `navigate` is what a tap opens if the notification names no URL.
    static func make(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        block: WebPushBlock,
        navigate: String?,
        limit: Int
    ) throws(MessageError) -> Content {
        if form == .wake {
            return Content(bytes: try AppMessage.make(notification, form, limit: limit), isDeclarative: false)
        }
        let message = try BrowserMessage(notification, form, block: block, navigate: navigate)
        if form == .envelope, !message.isDeclarative {
            return Content(bytes: try AppMessage.envelope(notification, limit: limit), isDeclarative: false)
        }
        guard let bytes = FittedPayload.make(limit: limit, { message.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return Content(bytes: bytes, isDeclarative: message.isDeclarative)
    }

    private init(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        block: WebPushBlock,
        navigate: String?
    ) throws(MessageError) {
        self.form = form
        self.block = block
        data = try MessageMembers(notification, native: JSONObject())
        sealed = form == .envelope ? try notification.sealed.object(or: .badEnvelope) : nil
        let ours = notification.url.isEmpty ? navigate ?? "" : notification.url.string
        self.navigate = block.navigate ?? ours
        let hasTitle = block.contains("title") ? block.title?.isEmpty == false : !notification.title.isEmpty
        isDeclarative =
            block.isDeclarative && hasTitle && AbsoluteURL.isOne(self.navigate)
            && Self.hasAbsoluteURLs(notification)
    }

    /// A single relative URL would make browsers refuse the whole declaration.
    private static func hasAbsoluteURLs(_ notification: borrowing Notification) -> Bool {
        var isAll = true
        notification.forEachAction(limit: actionLimit) { action in
            isAll = isAll && (action.url.isEmpty || AbsoluteURL.isOne(action.url.string))
        }
        return isAll
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        writer.beginObject()
        if isDeclarative {
            writer.key("web_push")
            writer.integer(8030)
        }
        if sealed == nil {
            MessageMembers().writeSignal(notification, to: &writer)
        }
        writer.key("notification")
        let lengths = writeNotification(notification, to: &writer, within: limits)
        if isDeclarative, block.isMutable || sealed != nil {
            writer.key("mutable")
            writer.bool(true)
        }
        writeBadge(to: &writer)
        writer.endObject()
        return lengths
    }

    private func writeNotification(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        if !block.contains("title") {
            lengths.title = writer.member("title", notification.title, limit: limits.title)
        }
        if !block.contains("body") {
            lengths.body = writer.member("body", notification.body, limit: limits.body)
        }
        if !navigate.isEmpty {
            writer.key("navigate")
            writer.string(navigate)
        }
        if !block.contains("tag") {
            writer.member("tag", notification.collapseKey)
        }
        if !block.contains("actions") {
            writeActions(notification, to: &writer)
        }
        block.writeMembers(to: &writer)
        if isDeclarative {
            // The explainer puts it beside the notification, WebKit's own example inside.
            writeBadge(to: &writer)
        }
        if !block.contains("data"), form != .nudge || Self.hasOwnData(notification) {
            writer.key("data")
            writeData(notification, to: &writer, within: limits, &lengths)
        }
        writer.endObject()
        return lengths
    }

    /// Whether a nudge has anything for the app besides its visible texts.
    private static func hasOwnData(_ notification: borrowing Notification) -> Bool {
        !notification.subtitle.isEmpty || !notification.category.isEmpty || !notification.thread.isEmpty
            || !notification.url.isEmpty || !notification.data.isEmpty || notification.hasActions
    }

    private func writeBadge(to writer: inout JSONWriter) {
        guard let badge = block.appBadge else { return }
        writer.key("app_badge")
        writer.value(badge)
    }

    private func writeActions(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard notification.hasActions else { return }
        writer.key("actions")
        writer.beginArray()
        notification.forEachAction(limit: Self.actionLimit) { action in
            writer.beginObject()
            writer.member("action", action.id)
            writer.member("title", action.label)
            if !action.url.isEmpty || !navigate.isEmpty {
                writer.key("navigate")
                writer.string(action.url.isEmpty ? navigate : action.url.string)
            }
            // Icons of other platforms are names, which browsers would read as URLs.
            if AbsoluteURL.isWebAddress(action.icon.string) {
                writer.member("icon", action.icon)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes our own message without the parts that the notification shows.
    private func writeData(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        writer.beginObject()
        if let sealed {
            writer.key("sealed")
            writer.object(sealed)
        } else {
            data.writeSignal(notification, to: &writer)
            if form != .nudge { data.writeText("id", notification.id, to: &writer) }
            lengths.subtitle = data.writeText("subtitle", notification.subtitle, to: &writer, limit: limits.subtitle)
            data.writeText("category", notification.category, to: &writer)
            data.writeText("thread", notification.thread, to: &writer)
            data.writeText("url", notification.url, to: &writer)
            data.writeActions(notification, to: &writer)
            lengths.referencedContent = data.writeOthers(to: &writer, referencedContent: limits.referencedContent)
        }
        writer.endObject()
    }
}
