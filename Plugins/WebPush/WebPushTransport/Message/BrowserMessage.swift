import PluginKit
import WebPushMessage

/// What the app's service worker reads, or the browser itself where it knows Declarative Web Push.
///
/// A wake-up is `{"t":"dm"}`. All that shows has beside `t` the member `notification`, which is what
/// `ServiceWorkerRegistration.showNotification` takes and `web_push: 8030` lets such a browser show by itself; in its
/// `data` is what the app needs when it is tapped. What the host encrypted is `{"sealed":{…}}`, or in `notification.data`.
struct BrowserMessage {
    /// Browsers show fewer.
    private static let actionLimit = 4

    private let form: MessageForm
    private let block: WebPushBlock
    private let data: MessageMembers
    private let sealed: JSONObject?
    /// What a tap opens; empty: whatever the app thinks fit.
    private let navigate: String
    private let isDeclarative: Bool

    /// The message in at most `limit` bytes. `navigate`: what a tap opens when the notification does not say.
    static func make(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        block: WebPushBlock,
        navigate: String?,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        if form == .wake {
            return try AppMessage.make(notification, form, limit: limit)
        }
        let message = try BrowserMessage(notification, form, block: block, navigate: navigate)
        if form == .envelope, !message.isDeclarative {
            return try AppMessage.envelope(notification, limit: limit)
        }
        guard let bytes = FittedPayload.make(limit: limit, { message.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return bytes
    }

    private init(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        block: WebPushBlock,
        navigate: String?
    ) throws(MessageMistake) {
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

    /// One button with another URL would make browsers refuse the declaration as a whole.
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
            // The explainer has it beside the notification, WebKit's own example within.
            writeBadge(to: &writer)
        }
        if !block.contains("data"), form != .nudge || Self.hasOwnData(notification) {
            writer.key("data")
            writeData(notification, to: &writer, within: limits, &lengths)
        }
        writer.endObject()
        return lengths
    }

    /// Whether a nudge has anything for the app beside what it shows.
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
            // Other platforms' icons are names, which browsers would take for addresses.
            if AbsoluteURL.isWebAddress(action.icon.string) {
                writer.member("icon", action.icon)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    /// Our own message without what the notification shows.
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
