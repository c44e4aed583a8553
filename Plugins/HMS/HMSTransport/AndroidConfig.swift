import Cipher
import PluginKit
import Units

/// `android` of a message: how it is delivered, and the notification where Push Kit draws it.
struct AndroidConfig {
    /// How long Huawei keeps a message without an expiration: a day.
    private static let defaultLifetime: Duration = .days(1)
    /// The longest that Huawei keeps a message.
    private static let longestLifetime: Duration = .days(15)
    /// In bytes.
    private static let tagLimit = 64

    private let isHigh: Bool
    private let lifetime: Duration
    private let tag: String?
    private let block: HMSBlock

    init(
        _ notification: borrowing Notification,
        _ block: HMSBlock,
        allowsHighPriority: Bool,
        now: Timestamp
    ) {
        self.block = block
        isHigh = allowsHighPriority && notification.urgency == .high && block.style == .data
        let end = notification.expiresAt ?? now + AndroidConfig.defaultLifetime
        // Huawei refuses a message without any time to live.
        lifetime = min(max(.seconds(1), end - now), AndroidConfig.longestLifetime)
        tag =
            block.style == .notification
            ? notification.collapseKey.headerValue(limit: AndroidConfig.tagLimit) {
                Base64URL.encode(SHA256.hash($0))
            }
            : nil
    }

    /// Members of the rule's block win over ours.
    func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        writer.key("android")
        writer.beginObject()
        if isHigh, !block.contains("urgency") {
            writer.key("urgency")
            writer.string("HIGH")
        }
        if !block.contains("ttl") {
            writer.key("ttl")
            writer.string("\(lifetime.seconds)s")
        }
        block.writeConfiguration(to: &writer)
        if block.style == .notification {
            writer.key("notification")
            writer.beginObject()
            writeNotification(notification, to: &writer, within: limits, &lengths)
            writer.endObject()
        }
        writer.endObject()
    }

    /// On the device a text wins over its key for translation, so only one of them is written.
    private func writeNotification(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits,
        _ lengths: inout FittedPayload.Lengths
    ) {
        let given = block.notification
        if !given.contains("title"), !given.contains("title_loc_key") {
            lengths.title = writer.member("title", notification.title, limit: limits.title)
        }
        if !given.contains("body"), !given.contains("body_loc_key") {
            lengths.body = writer.member("body", notification.body, limit: limits.body)
        }
        if !given.contains("click_action") {
            writeClickAction(notification.url, to: &writer)
        }
        if let tag, !given.contains("tag") {
            writer.key("tag")
            writer.string(tag)
        }
        if notification.urgency == .low, !given.contains("importance") {
            writer.key("importance")
            writer.string("LOW")
        }
        writer.members(of: given)
    }

    /// What a tap opens, which Huawei wants to know of every notification: the web page (2), or else the app (3).
    private func writeClickAction(_ url: BorrowedText, to writer: inout JSONWriter) {
        writer.key("click_action")
        writer.beginObject()
        writer.key("type")
        if let page = HTTPURL(url.string), page.isSecure {
            writer.integer(2)
            writer.key("url")
            writer.string(url)
        } else {
            writer.integer(3)
        }
        writer.endObject()
    }
}

/// The rule's block for this platform: members of a message's `android`, and `style`.
struct HMSBlock {
    /// Who draws the notification.
    enum Style {
        /// The app, which gets everything as `data`.
        case data
        /// Push Kit, which gets title and body as `notification`.
        case notification
    }

    var style: Style
    /// The members of `notification`.
    let notification: JSONObject
    private let members: JSONObject

    /// The block of wake-ups.
    init() {
        style = .data
        notification = JSONObject()
        members = JSONObject()
    }

    /// `usual` is the style of a block that names none.
    init(parsing text: BorrowedText, usual: Style) throws(MessageError) {
        do throws(JSONError) {
            members = try text.jsonObject()
        } catch {
            throw .badNative
        }
        switch members["style"]?.string {
        case "notification": style = .notification
        case nil: style = usual
        default: style = .data
        }
        if let value = members["notification"], !value.isNull {
            guard let object = value.object else { throw .badNative }
            notification = object
        } else {
            notification = JSONObject()
        }
    }

    /// Whether its `notification` has a text of its own.
    var shows: Bool {
        ["title", "title_loc_key", "body", "body_loc_key"].contains { notification.contains($0) }
    }

    func contains(_ name: StaticString) -> Bool { members.contains(name) }

    /// Writes the members that `android` takes over unchanged. Not `data`, which would replace the message's.
    func writeConfiguration(to writer: inout JSONWriter) {
        writer.members(of: members.removing(["style", "notification", "data"]))
    }
}
