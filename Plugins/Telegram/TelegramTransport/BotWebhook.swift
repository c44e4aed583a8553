import Cipher
import Core
import PluginKit
import Synchronization

/// Registers the router's webhook with Telegram, and authenticates the requests that Telegram sends there.
final class BotWebhook: Sendable {
    private static let path = "/updates"
    private static let secretKey = "webhook-secret"
    private static let firstWait: Duration = .seconds(5)
    private static let longestWait: Duration = .hours(1)

    private let host: Host
    private let url: String
    private let methodsURL: String
    private let secret: [UInt8]
    private let now: @Sendable () -> Timestamp
    private let failures = Mutex(0)

    /// Returns nil if the router has no public URL. Throws if the router has no timers or stores no state.
    init?(_ methodsURL: String, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        guard let inboundURL = host.inboundURL else { return nil }
        self.host = host
        self.methodsURL = methodsURL
        self.now = now
        url = inboundURL + Self.path
        if let kept = try host.state(Self.secretKey) {
            secret = kept
        } else {
            secret = Self.newSecret()
            try host.setState(Self.secretKey, secret)
        }
        try start(after: .zero)
    }

    /// Returns a new secret of 64 digits: Telegram accepts 1 to 256 of A-Z, a-z, 0-9, _ and -.
    private static func newSecret() -> [UInt8] {
        Array(Hex.encode(SecureRandom.bytes(32)).utf8)
    }

    /// Whether Telegram sent the request: only it knows the secret.
    func isAuthentic(_ request: InboundRequest) -> Bool {
        guard let secret = request.header("x-telegram-bot-api-secret-token") else { return false }
        return ConstantTime.areEqual(Array(secret.utf8), self.secret)
    }

    /// Whether a request is for the path of the webhook.
    func isMeant(by request: InboundRequest) -> Bool { request.method == "POST" && request.path == Self.path }

    private func start(after wait: Duration) throws(PluginError) {
        _ = try host.startTimer(after: wait) { [weak self] in self?.register() }
    }

    private func register() {
        var writer = JSONWriter(reservingBytes: 256)
        writer.beginObject()
        writer.key("url")
        writer.string(url)
        writer.key("secret_token")
        writer.string(String(decoding: secret, as: UTF8.self))
        writer.key("allowed_updates")
        writer.beginArray()
        writer.string("message")
        writer.endArray()
        writer.key("max_connections")
        // The router accepts eight at a time.
        writer.integer(4)
        writer.endObject()
        var request = HTTPRequest("POST", url: methodsURL + "setWebhook")
        request.addHeader("content-type", "application/json")
        request.maxResponseBytes = 4096
        request.body = writer.bytes
        let admission = host.send(request) { [weak self] in self?.judge($0) }
        if case .accepted = admission { return }
        retry(after: Self.firstWait)
    }

    private func judge(_ response: borrowing HTTPResponse) {
        let body = try? response.body.jsonObject()
        if response.status == 200, body?["ok"]?.bool == true {
            failures.withLock { $0 = 0 }
            host.log(.info, "registered the bot's webhook \(url) with Telegram")
            return
        }
        let failed = failures.withLock { failures in
            failures += 1
            return failures
        }
        var wait = min(Self.longestWait, Self.firstWait * (1 << min(failed - 1, 10)))
        if let seconds = body?["parameters"]?.object?["retry_after"]?.integer, (1...86_400).contains(seconds) {
            wait = max(wait, .seconds(seconds))
        }
        // With a long backoff, each failure is logged.
        if failed == 1 || wait >= Self.longestWait {
            host.log(.error, "\(reason(response, body)), so people cannot link chats or unsubscribe; retrying")
        }
        retry(after: wait)
    }

    private func reason(_ response: borrowing HTTPResponse, _ body: JSONObject?) -> String {
        switch response.status {
        case 0: return "could not register the bot's webhook with Telegram: \(response.failure)"
        case 401, 404: return "Telegram does not know the bot: check its token"
        default:
            let text = body?["description"]?.string ?? ""
            let words = text.unicodeScalars.filter { (" "..."~").contains($0) }.prefix(200)
            return
                "Telegram refused the bot's webhook \(url): \(response.status) \(String(String.UnicodeScalarView(words)))"
        }
    }

    private func retry(after wait: Duration) {
        do throws(PluginError) {
            try start(after: wait)
        } catch {
            host.log(.error, "could not start the registration of the bot's webhook: \(error)")
        }
    }
}

/// A person's message to the bot, as Telegram posts it to us.
struct BotUpdate: Hashable {
    enum Command: Hashable {
        /// `/start`, with the text after `start=` in the link.
        case start(String?)
        case stop
    }

    let chat: Int64
    /// Whether it is a person's own chat with the bot.
    let isPrivate: Bool
    let command: Command

    /// Returns nil for updates that need no action.
    init?(_ body: [UInt8]) {
        let object = body.withUnsafeBytes { try? JSONObject(parsing: $0) }
        guard let message = object?["message"]?.object, let chat = message["chat"]?.object,
            let number = chat["id"]?.integer, number != 0, let text = message["text"]?.string
        else { return nil }
        let words = text.split(whereSeparator: \.isWhitespace).prefix(3)
        // In groups the bot's name follows a command, and Telegram sends us only our own commands.
        switch words.first?.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).first {
        case "/start": command = .start(words.count > 1 ? String(words[words.startIndex + 1]) : nil)
        case "/stop": command = .stop
        default: return nil
        }
        self.chat = number
        isPrivate = chat["type"]?.string == "private"
    }
}

/// A response to Telegram's post that calls `sendMessage`.
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
