import PluginKit

/// What a person wrote to the bot, as Telegram posts it to us.
struct BotUpdate: Hashable {
    enum Command: Hashable {
        /// `/start`, with what stood behind `start=` in the link that was opened.
        case start(String?)
        case stop
    }

    let chat: Int64
    /// Whether it is a person's own chat with the bot.
    let isPrivate: Bool
    let command: Command

    /// Nil for everything that asks nothing of us.
    init?(_ body: [UInt8]) {
        let object = body.withUnsafeBytes { try? JSONObject(parsing: $0) }
        guard let message = object?["message"]?.object, let chat = message["chat"]?.object,
            let number = chat["id"]?.integer, number != 0, let text = message["text"]?.string
        else { return nil }
        let words = text.split(whereSeparator: \.isWhitespace).prefix(3)
        // In groups commands have the bot's name behind them: Telegram hands us our own only.
        switch words.first?.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).first {
        case "/start": command = .start(words.count > 1 ? String(words[words.startIndex + 1]) : nil)
        case "/stop": command = .stop
        default: return nil
        }
        self.chat = number
        isPrivate = chat["type"]?.string == "private"
    }
}

/// An answer to Telegram's post that is a call of `sendMessage` in itself.
struct BotReply {
    let chat: Int64
    let text: String

    var answer: InboundAnswer {
        var writer = JSONWriter(reservingBytes: 256)
        writer.beginObject()
        writer.key("method")
        writer.string("sendMessage")
        writer.key("chat_id")
        writer.integer(chat)
        writer.key("text")
        writer.string(text)
        writer.endObject()
        return InboundAnswer(status: 200, headers: [("content-type", "application/json")], body: writer.bytes)
    }
}
