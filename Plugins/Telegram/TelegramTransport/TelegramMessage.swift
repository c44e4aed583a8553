import PluginKit

/// A `sendMessage` of the Bot API: the title in bold with the notification's link, then the subtitle and the text;
/// buttons with links are below.
///
/// Telegram opens web pages and its own links (`tg:`). It refuses or ignores other URLs, such as `nostr:`, so they are
/// omitted.
struct TelegramMessage {
    /// The maximum length in UTF-16 code units, without markup.
    private static let limit = 4096
    private static let buttonsLimit = 8

    private let text: String
    private let buttons: [(label: String, url: String)]
    private let isSilent: Bool
    private let isProtected: Bool
    private let hasPreview: Bool

    /// Returns nil for a mode whose text needs an app that decrypts it.
    init?(_ notification: borrowing Notification, _ wakeTexts: WakeTexts) throws(ReadableMessageError) {
        guard let native = try? notification.native.jsonObject() else { throw .badNative }
        isSilent = native["silent"]?.bool ?? (notification.urgency == .low)
        isProtected = native["protect_content"]?.bool ?? false
        hasPreview = native["link_preview"]?.bool ?? false
        switch notification.mode {
        case .wake:
            text = Self.escape(wakeTexts.text(count: notification.count))
            buttons = []
        case .nudge, .alert:
            text = try Self.text(of: notification)
            buttons = Self.buttons(of: notification)
        case .sealed, nil: return nil
        }
    }

    /// Returns the request's JSON.
    func json(to chat: Int64) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: text.utf8.count + 256)
        writer.beginObject()
        writer.key("chat_id")
        writer.integer(chat)
        writer.key("text")
        writer.string(text)
        writer.key("parse_mode")
        writer.string("HTML")
        if isSilent {
            writer.key("disable_notification")
            writer.bool(true)
        }
        if isProtected {
            writer.key("protect_content")
            writer.bool(true)
        }
        writer.key("link_preview_options")
        writer.beginObject()
        writer.key("is_disabled")
        writer.bool(!hasPreview)
        writer.endObject()
        writeButtons(to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private func writeButtons(to writer: inout JSONWriter) {
        guard !buttons.isEmpty else { return }
        writer.key("reply_markup")
        writer.beginObject()
        writer.key("inline_keyboard")
        writer.beginArray()
        for button in buttons {
            writer.beginArray()
            writer.beginObject()
            writer.key("text")
            writer.string(button.label)
            writer.key("url")
            writer.string(button.url)
            writer.endObject()
            writer.endArray()
        }
        writer.endArray()
        writer.endObject()
    }

    private static func text(of notification: borrowing Notification) throws(ReadableMessageError) -> String {
        let (title, subtitle) = (notification.title.string, notification.subtitle.string)
        let body = notification.body.string
        // Telegram treats a text of only white space as empty.
        guard [title, subtitle, body].contains(where: { $0.contains { !$0.isWhitespace } }) else { throw .empty }
        let link = link(notification.url)
        let text = FittedPayload.fit(limit: limit) { limits in
            let parts = [
                shorten(title, limit: limits.title), shorten(subtitle, limit: limits.subtitle),
                shorten(body, limit: limits.body), title.isEmpty ? link ?? "" : "",
            ]
            let lengths = parts.map(\.utf16.count)
            var lines = parts.map(escape)
            if !lines[0].isEmpty {
                lines[0] = "<b>\(link.map { "<a href=\"\(escape($0))\">\(lines[0])</a>" } ?? lines[0])</b>"
            }
            return FittedPayload.Attempt(
                lines.filter { !$0.isEmpty }.joined(separator: "\n"),
                byteCount: lengths.reduce(0, +) + lengths.count(where: { $0 > 0 }) - 1,
                lengths: FittedPayload.Lengths(body: lengths[2], subtitle: lengths[1], title: lengths[0])
            )
        }
        guard let text else { throw .tooLarge }
        return text
    }

    /// Returns the text, truncated between two characters and ended with `…` if it is too long; empty if no character
    /// fits.
    private static func shorten(_ text: String, limit: Int?) -> String {
        guard let limit, text.utf16.count > limit else { return text }
        var room = limit - 1
        let short = text.prefix { character in
            room -= character.utf16.count
            return room >= 0
        }
        return short.isEmpty ? "" : short + "…"
    }

    private static func buttons(of notification: borrowing Notification) -> [(label: String, url: String)] {
        var buttons: [(label: String, url: String)] = []
        notification.forEachAction { action in
            guard buttons.count < buttonsLimit, let url = link(action.url) else { return }
            buttons.append((action.label.string, url))
        }
        return buttons
    }

    /// Returns the URL if Telegram opens it, or nil.
    private static func link(_ text: BorrowedText) -> String? {
        let text = text.string
        if let url = HTTPURL(text) {
            // Telegram does not accept a host without a dot as a web page.
            return url.origin.contains(".") ? text : nil
        }
        return text.hasPrefix("tg://") && text.utf8.allSatisfy(\.isVisibleASCII) ? text : nil
    }

    /// Escapes the four characters that Telegram's HTML requires.
    private static func escape(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count + 32)
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
