import PluginKit
import WebPushMessage

/// The message for the app's service worker, or for the browser itself if it supports Declarative Web Push.
///
/// A wake-up is `{"t":"dm"}`. A visible message has `t` and `notification`, the argument of
/// `ServiceWorkerRegistration.showNotification`. With `web_push: 8030` a browser can show it without the app, and its
/// `data` is for the app after a tap. A host's envelope is `{"sealed":{…}}`, or in `notification.data`.
struct BrowserMessage {
    /// The maximum number of buttons. Browsers show fewer.
    private static let actionLimit = 4

    /// The bytes of a message, not encrypted yet.
    struct Content {
        let bytes: [UInt8]
        /// Whether a browser can show it without the app.
        let isDeclarative: Bool

        /// The content type, proposed by the explainer of Declarative Web Push to recognize a message before it is
        /// decrypted.
        var type: String { isDeclarative ? "application/notification+json" : "application/octet-stream" }
    }

    private let form: MessageForm
    private let block: WebPushBlock
    private let data: MessageMembers
    private let sealed: JSONObject?
    /// The URL that a tap opens; empty: the app decides.
    private let navigate: String
    private let isDeclarative: Bool

    /// Returns a message of at most `limit` bytes. `navigate` is the URL that a tap opens if the notification has none.
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

    /// Whether all URLs are absolute, because a single relative URL would make browsers refuse the whole declaration.
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
            // The explainer puts it next to the notification, WebKit's own example inside.
            writeBadge(to: &writer)
        }
        if !block.contains("data"), form != .nudge || Self.hasOwnData(notification) {
            writer.key("data")
            writeData(notification, to: &writer, within: limits, &lengths)
        }
        writer.endObject()
        return lengths
    }

    /// Whether a nudge has data for the app in addition to its visible texts.
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

/// The rule's block for this platform: members of the browser's notification, and keys that control the message.
struct WebPushBlock {
    private static let steering: [StaticString] = [
        "declarative", "mutable", "app_badge", "navigate", "topic", "ttl", "urgency",
    ]

    private let object: JSONObject
    /// Whether the browser may show it without the app's service worker.
    let isDeclarative: Bool
    /// Whether the service worker may change what the browser would show.
    let isMutable: Bool
    /// The badge of the app's icon: a number, or a string that contains it.
    let appBadge: JSONValue?
    /// The URL that a tap opens, instead of the notification's URL.
    let navigate: String?
    /// The topic, instead of the notification's collapse key.
    let topic: String?
    /// The time to live in seconds.
    let timeToLive: Int64?
    /// The value of `Urgency`.
    let urgency: String?

    /// Throws unless the block is an object, and for a controlling key with a value of the wrong type.
    init(_ notification: borrowing Notification) throws(MessageError) {
        object = try notification.native.object(or: .badNative)
        isDeclarative = try Self.value(object, "declarative", \.bool) ?? true
        isMutable = try Self.value(object, "mutable", \.bool) ?? false
        appBadge = try Self.value(object, "app_badge") { $0.integer == nil && $0.string == nil ? nil : $0 }
        navigate = try Self.value(object, "navigate", \.string)
        topic = try Self.value(object, "topic", \.string)
        timeToLive = try Self.value(object, "ttl", \.integer)
        urgency = try Self.value(object, "urgency", \.urgency)
    }

    /// Whether the block has a member with this name.
    func contains(_ name: StaticString) -> Bool { object.contains(name) }

    /// The block's own title.
    var title: String? { object["title"]?.string }

    /// Writes the members of the browser's notification.
    func writeMembers(to writer: inout JSONWriter) {
        for index in 0..<object.count {
            let member = object.member(at: index)
            let key = member.key
            if !Self.steering.contains(where: { $0.description == key }) {
                writer.member(member)
            }
        }
    }

    private static func value<Value>(
        _ object: JSONObject,
        _ name: StaticString,
        _ read: (JSONValue) -> Value?
    ) throws(MessageError) -> Value? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let read = read(value) else { throw .badNative }
        return read
    }
}

extension JSONValue {
    fileprivate var urgency: String? {
        guard let word = string, ["very-low", "low", "normal", "high"].contains(word) else { return nil }
        return word
    }
}

/// An absolute URL (URL Standard, "absolute-URL string").
enum AbsoluteURL {
    /// Whether the text has a scheme and more, without spaces and control characters.
    static func isOne(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first, first.isASCIILetter,
            bytes[..<colon].allSatisfy(isSchemeByte), bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return false }
        let rest = bytes[bytes.index(after: colon)...]
        switch text[..<colon].lowercased() {
        case "https", "http": return rest.starts(with: "//".utf8) && isHostStart(rest.dropFirst(2).first)
        default: return !rest.isEmpty
        }
    }

    /// Whether it is an `https` or `http` URL, from which a browser can load a picture.
    static func isWebAddress(_ text: some StringProtocol) -> Bool {
        isOne(text) && ["https", "http"].contains(text.prefix { $0 != ":" }.lowercased())
    }

    private static func isHostStart(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ":"), UInt8(ascii: "@"): false
        default: true
        }
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "+-.") }
}
