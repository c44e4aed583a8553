import PluginKit

/// FCM's `AndroidConfig`: how a message is delivered, and what else is shown of it.
struct AndroidConfig {
    /// How long FCM keeps a message that does not say, in milliseconds: a day.
    private static let defaultLifetime: Int64 = 86_400_000
    /// Four weeks: FCM keeps nothing longer, in seconds.
    private static let longestLifetime: Int64 = 2_419_200

    private let isHigh: Bool
    /// In seconds; 0 asks for one attempt.
    private let lifetime: Int64
    private let collapseKey: String?
    private let isDirectBootOK: Bool
    private let block: AndroidBlock

    /// `now` in milliseconds since 1970.
    init(_ notification: borrowing Notification, _ block: AndroidBlock, isDirectBootOK: Bool, now: Int64) {
        // What shows is for now, and a wake-up only when it says so: Google makes apps wait that wake for nothing.
        isHigh = notification.mode == .wake ? notification.urgency == .high : notification.urgency != .low
        let end = notification.expiresAt.map { Int64(clamping: $0) } ?? now + AndroidConfig.defaultLifetime
        lifetime = min(max(0, end - now) / 1000, AndroidConfig.longestLifetime)
        let isShown = notification.mode == .alert || notification.mode == .nudge
        collapseKey = isShown ? CollapseKey.make(notification.collapseKey) : nil
        self.isDirectBootOK = isDirectBootOK
        self.block = block
    }

    /// What the rule's block says counts.
    func write(to writer: inout MessageWriter) {
        writer.json.key("android")
        writer.json.beginObject()
        if !block.contains("priority") {
            writer.json.key("priority")
            writer.json.string(isHigh ? "HIGH" : "NORMAL")
        }
        if !block.contains("ttl") {
            writer.json.key("ttl")
            writer.json.string("\(lifetime)s")
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
        writer.json.endObject()
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
