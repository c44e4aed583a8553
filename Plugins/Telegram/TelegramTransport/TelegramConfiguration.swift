import PluginKit

/// The configuration block of one app.
struct TelegramConfiguration: Sendable {
    /// The URL of the Bot API with the token, without the method's name.
    let methodsURL: String
    /// Whether the Bot API is Telegram's own, which supports HTTP/2.
    let isTelegrams: Bool
    /// The bot's name for links in apps; nil: not configured.
    let botName: String?
    let wakeTexts: WakeTexts
    let replies: BotReplies

    /// Throws for the first error, with its key and the expected value.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: [
            "token_file", "token", "bot", "base_url", "wake_message", "batch_message", "linked_message",
            "stopped_message", "taken_message", "start_message",
        ])
        let token = try Self.token(block)
        let expectedURL = "the URL of a Bot API server such as http://127.0.0.1:8081"
        let api = try block.text("base_url", expected: expectedURL)
        guard let url = HTTPURL(api ?? "https://api.telegram.org"), !url.target.contains("?") else {
            throw PluginError("base_url: expected \(expectedURL)")
        }
        let path = url.target.hasSuffix("/") ? url.target.dropLast() : url.target[...]
        methodsURL = "\(url.origin)\(path)/bot\(token)/"
        isTelegrams = api == nil
        botName = try Self.botName(block)
        wakeTexts = try WakeTexts(block)
        replies = try BotReplies(block)
    }

    private static func token(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "a bot's token such as 123456789:AAE…, from @BotFather"
        let text = try block.text("token", expected: expected)
        let file = try block.file("token_file", expected: "the path of a file with the bot's token")
        guard (text == nil) != (file == nil) else {
            throw PluginError("token_file: expected the path of a file with the bot's token, or token instead")
        }
        let token: String
        if let file { token = try file.text() } else { token = text ?? "" }
        // The token is the only line of the file; more text is an error.
        let lines = token.split(whereSeparator: \.isNewline)
        guard lines.count == 1, isToken(lines[0]) else {
            throw PluginError("\(text == nil ? "token_file" : "token"): expected \(expected)")
        }
        return String(lines[0])
    }

    private static func isToken(_ text: Substring) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 && (1...20).contains(parts[0].utf8.count) && parts[0].utf8.allSatisfy(\.isASCIIDigit)
            && (20...100).contains(parts[1].utf8.count) && parts[1].utf8.allSatisfy(ChatTarget.isCodeByte)
    }

    private static func botName(_ block: JSONObject) throws(PluginError) -> String? {
        let expected = "the bot's name such as example_bot"
        guard let text = try block.text("bot", expected: expected) else { return nil }
        let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
        guard BotName.isPlausible(String(name)) else { throw PluginError("bot: expected \(expected)") }
        return String(name)
    }
}

/// The format of bot names, without the `@`.
enum BotName {
    static func isPlausible(_ name: String) -> Bool {
        (3...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") }
    }
}

/// The bot's replies to people's messages.
struct BotReplies: Sendable {
    private static let limit = 1000
    private static let placeholder = "{chat}"

    let linked: String
    let stopped: String
    let taken: String
    private let start: String

    /// Throws if a text is empty or longer than 1,000 bytes.
    init(_ block: JSONObject) throws(PluginError) {
        linked = try Self.text(block, "linked_message") ?? "Notifications arrive in this chat from now on."
        stopped = try Self.text(block, "stopped_message") ?? "No more notifications arrive in this chat."
        taken =
            try Self.text(block, "taken_message") ?? "This link was used in another chat. Please make a new one."
        start =
            try Self.text(block, "start_message")
            ?? "This bot brings notifications. Open the link that your app shows, or give it this chat's number: {chat}"
    }

    /// Returns the reply to `/start` without a code.
    func start(_ chat: Int64) -> String {
        guard let place = start.firstRange(of: Self.placeholder) else { return start }
        return start[..<place.lowerBound] + String(chat) + start[place.upperBound...]
    }

    private static func text(_ block: JSONObject, _ key: StaticString) throws(PluginError) -> String? {
        let expected = "a text of 1 to \(limit) bytes"
        guard let text = try block.text(key, expected: expected) else { return nil }
        guard (1...limit).contains(text.utf8.count) else { throw PluginError("\(key): expected \(expected)") }
        return text
    }
}
