import Cipher
import Core
import PluginKit

/// FCM's `AndroidConfig`: the delivery options, and the rest of the notification.
struct AndroidConfig {
    /// How long FCM stores a message without an expiration: a day.
    private static let defaultLifetime: Duration = .days(1)
    /// The longest that FCM stores a message: four weeks.
    private static let longestLifetime: Duration = .days(28)

    /// The maximum length in bytes.
    private static let collapseKeyLimit = 64

    private let isHigh: Bool
    private let collapseKey: String?
    private let isDirectBootOK: Bool
    private let block: AndroidBlock

    init(_ notification: borrowing Notification, _ block: AndroidBlock, isDirectBootOK: Bool) {
        // Visible messages are immediate, wake-ups only on request: Google throttles apps that wake up and show
        // nothing.
        isHigh = notification.mode == .wake ? notification.urgency == .high : notification.urgency != .low
        let isShown = notification.mode == .alert || notification.mode == .nudge
        collapseKey =
            isShown
            ? notification.collapseKey.headerValue(limit: AndroidConfig.collapseKeyLimit) {
                Base64URL.encode(SHA256.hash($0))
            }
            : nil
        self.isDirectBootOK = isDirectBootOK
        self.block = block
    }

    /// How long FCM stores the message. Less than a second means one attempt.
    static func lifetime(of notification: borrowing Notification, now: Timestamp) -> Duration {
        let end = notification.expiresAt ?? now + defaultLifetime
        return min(max(.zero, end - now), longestLifetime)
    }

    /// Writes everything except the end. It ends with the name `ttl`, for the lifetime, unless the rule's block has
    /// that. Members of the block override ours.
    func begin(in writer: inout MessageWriter) {
        writer.json.key("android")
        writer.json.beginObject()
        if !block.contains("priority") {
            writer.json.key("priority")
            writer.json.string(isHigh ? "HIGH" : "NORMAL")
        }
        if let collapseKey, !block.contains("collapseKey") {
            writer.json.key("collapseKey")
            writer.json.string(collapseKey)
        }
        if isDirectBootOK, !block.contains("directBootOk") {
            writer.json.key("directBootOk")
            writer.json.bool(true)
        }
        block.writeConfiguration(to: &writer.json)
        if block.style == .notification {
            writeNotification(to: &writer)
        }
        if !block.contains("ttl") { writer.json.key("ttl") }
    }

    private func writeNotification(to writer: inout MessageWriter) {
        let tag = block.notification.contains("tag") ? nil : collapseKey
        guard tag != nil || !block.notification.isEmpty else { return }
        writer.json.key("notification")
        writer.json.beginObject()
        if let tag {
            writer.text("tag", tag)
        }
        writer.members(of: block.notification)
        writer.json.endObject()
    }
}

/// The rule's block for this platform: members of FCM's `AndroidConfig`, and `style`.
struct AndroidBlock {
    /// The component that draws the notification.
    enum Style {
        /// The app, which gets all fields as `data`.
        case data
        /// FCM, which gets title and body as `notification`.
        case notification
    }

    let style: Style
    /// The members of `notification`.
    let notification: JSONObject
    private let members: JSONObject

    /// The block of wake-ups.
    static let none = AndroidBlock()

    private init() {
        style = .data
        notification = JSONObject()
        members = JSONObject()
    }

    /// Parses a block; `usual` is the style if the block sets none.
    init(parsing text: BorrowedText, usual: Style = .data) throws(MessageError) {
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

    private init(_ other: AndroidBlock, drawnBy style: Style) {
        self.style = style
        notification = other.notification
        members = other.members
    }

    /// This block with the style `data`.
    var drawnByTheApp: AndroidBlock { AndroidBlock(self, drawnBy: .data) }

    func contains(_ name: StaticString) -> Bool { members.contains(name) }

    /// Writes the members that are copied to `AndroidConfig` unchanged. Not `data`, which would replace the message's.
    func writeConfiguration(to writer: inout JSONWriter) {
        for index in 0..<members.count {
            let member = members.member(at: index)
            switch member.key {
            case "style", "notification", "data": break
            default: writer.member(member)
            }
        }
    }
}
