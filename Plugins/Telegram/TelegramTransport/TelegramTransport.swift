import Core
public import PluginKit
import Synchronization

/// Telegram, through a bot: sends messages for a person or a group to a chat's number, or to a code that a person links
/// with the bot.
public final class TelegramTransport: PluginTransport {
    public static let platform: StaticString = "telegram"
    public static let description: StaticString? = TelegramDescription.json

    /// The time after a registration in which the person may still open the bot.
    private static let openingTimeout: Duration = .minutes(15)
    private static let pauseWhilePatient: Duration = .seconds(10)
    private static let timeout: Duration = .seconds(20)

    private let configuration: TelegramConfiguration
    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let links: ChatLinks
    private let webhook: BotWebhook?
    private let floods = FloodControl()
    private let reports: RateLimitedLog<String>
    /// Whether Telegram accepted a message since startup: then the bot is the one that people opened.
    private let hasDelivered = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        self.configuration = try TelegramConfiguration(configuration)
        self.host = host
        self.now = now
        links = ChatLinks(host)
        reports = RateLimitedLog(host)
        webhook = try BotWebhook(self.configuration.methodsURL, host: host, now: now)
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        switch ChatTarget(registration.token.string) {
        case .chat: break
        case .code where webhook != nil: break
        case .code:
            throw PluginError("token: expected a chat's number, because this router has no public URL to link codes")
        case nil:
            throw PluginError(
                "token: expected a chat's number, or a link code of \(ChatTarget.codeLengths.lowerBound) to "
                    + "\(ChatTarget.codeLengths.upperBound) letters, digits, - and _, with a letter among them"
            )
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        guard let target = ChatTarget(registration.token.string) else { return .invalid }
        let message: TelegramMessage
        do throws(ReadableMessageError) {
            guard let readable = try TelegramMessage(notification, configuration.wakeTexts) else { return .unsupported }
            message = readable
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        let now = now()
        let isRecent = now < registration.registeredAt + Self.openingTimeout
        let link = links.link(of: target, today: now.day)
        guard link?.isStopped != true else {
            ticket.complete(Outcome(.gone, reason: "stopped"))
            return .accepted
        }
        let push = Push(ticket: ticket, message: message, target: target, isRecent: isRecent, isLinked: link != nil)
        switch (target, link) {
        case (_, let link?): return send(push, to: link.chat)
        case (.chat(let chat), nil): return send(push, to: chat)
        case (.code, nil):
            // Never gone: the person may open the link at any time, and the code belongs to this registration only.
            let outcome = Outcome(.rejected, reason: "not-linked")
            ticket.complete(isRecent ? Self.later(outcome) : outcome)
            return .accepted
        }
    }

    /// Runs a command: `check` asks Telegram which bot the token belongs to; `status` reports the bot's name to apps.
    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        switch words {
        case ["check"]: return check(completion)
        case ["status"]: completion(CommandAnswer(isGood: true, text: status))
        case ["help"]: completion(.helpOnCheck)
        default: return .unsupported
        }
        return .accepted
    }

    private var status: String {
        var status = JSONWriter(reservingBytes: 64)
        status.beginObject()
        if let name = configuration.botName {
            status.key("clients")
            status.beginObject()
            status.key("bot")
            status.beginArray()
            status.string(name)
            status.endArray()
            status.endObject()
        }
        status.endObject()
        return String(decoding: status.bytes, as: UTF8.self)
    }

    private func check(_ completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        var request = HTTPRequest(
            "GET",
            url: configuration.methodsURL + "getMe",
            options: configuration.isTelegrams ? .multiplex : []
        )
        request.timeout = Self.timeout
        request.maxResponseBytes = 16_384
        return host.send(request) { [configuration, now] response in
            let unexpected = CommandAnswer.check(Outcome(.retry, status: response.status, reason: "unexpected-answer"))
            switch TelegramAnswer(response, now: now()).decision {
            case .flooded(let outcome): return completion(.check(outcome))
            case .outcome(let outcome) where outcome.kind == .misconfigured || outcome.kind == .retry:
                return completion(.check(outcome))
            case .outcome(let outcome) where outcome.kind == .delivered: break
            // Only responses to messages have these.
            case .outcome, .unknownChat, .moved: return completion(unexpected)
            }
            let bot = (try? response.body.jsonObject())?["result"]?.object?["username"]?.string ?? ""
            guard BotName.isPlausible(bot) else { return completion(unexpected) }
            guard let name = configuration.botName, name.lowercased() != bot.lowercased() else {
                return completion(.accepted("@\(bot)"))
            }
            completion(.refused("the token belongs to @\(bot), but bot is @\(name)"))
        }
    }

    public func receive(_ request: InboundRequest, answer: @escaping @Sendable (InboundAnswer) -> Void) -> Acceptance {
        guard let webhook, webhook.isMeant(by: request) else { return .unsupported }
        guard webhook.isAuthentic(request) else {
            answer(InboundAnswer(status: 403))
            return .accepted
        }
        // Ignored updates get a response too: otherwise Telegram would send them again.
        let text = BotUpdate(request.body).flatMap { update in reply(to: update).map { (update.chat, $0) } }
        answer(text.map { BotReply(chat: $0, text: $1).answer } ?? InboundAnswer(status: 200))
        return .accepted
    }

    /// Performs a person's command and returns the reply.
    private func reply(to update: BotUpdate) -> String? {
        let replies = configuration.replies
        let today = now().day
        switch update.command {
        case .start(let code?):
            links.resume(update.chat)
            guard case .code(let code)? = ChatTarget(code) else { return replies.start(update.chat) }
            switch links.link(code, to: update.chat, today: today) {
            case .linked: return replies.linked
            case .taken: return replies.taken
            case .full:
                reports.log("full", .error, now: now(), "could not link a chat by a code: the store is full")
                return replies.taken
            }
        case .start(nil):
            links.resume(update.chat)
            return replies.start(update.chat)
        case .stop:
            // In a group anyone could send this; its administrators can remove the bot.
            guard update.isPrivate else { return nil }
            if !links.stop(update.chat, today: today) {
                reports.log("full", .error, now: now(), "could not record that a chat unsubscribed: the store is full")
            }
            return replies.stopped
        }
    }

    /// A message in flight.
    private struct Push: Sendable {
        let ticket: Ticket
        let message: TelegramMessage
        let target: ChatTarget
        let isRecent: Bool
        /// Whether its chat was linked to this bot by a code.
        let isLinked: Bool
    }

    private func send(_ push: Push, to chat: Int64, isSecond: Bool = false) -> Acceptance {
        var request = HTTPRequest(
            "POST",
            url: configuration.methodsURL + "sendMessage",
            options: configuration.isTelegrams ? .multiplex : []
        )
        request.timeout = Self.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("content-type", "application/json")
        request.body = push.message.json(to: chat)
        return host.send(request) { [self] response in
            let now = now()
            switch TelegramAnswer(response, now: now).decision {
            case .moved(let other) where !isSecond:
                links.move(push.target, to: other, today: now.day)
                if case .accepted = send(push, to: other, isSecond: true) { return }
                push.ticket.complete(Outcome(.retry, status: response.status, reason: "moved"))
            case let decision: push.ticket.complete(outcome(of: decision, push, to: chat, now: now))
            }
        }
    }

    private func outcome(of decision: TelegramAnswer.Decision, _ push: Push, to chat: Int64, now: Timestamp) -> Outcome
    {
        switch decision {
        case .outcome(let outcome):
            if outcome.kind == .delivered { hasDelivered.store(true, ordering: .relaxed) }
            report(outcome, now: now)
            return outcome
        case .unknownChat(let outcome):
            if push.isRecent, !push.isLinked { return Self.later(outcome) }
            // Another bot's chats look the same.
            guard outcome.kind != .gone || hasDelivered.load(ordering: .relaxed) else {
                let outcome = Outcome(.retry, status: outcome.status, reason: outcome.reason)
                report(outcome, now: now)
                return outcome
            }
            return outcome
        case .moved: return Outcome(.rejected, status: 400, reason: "moved")
        case .flooded(let outcome): return floods.judge(outcome, to: chat, now: now)
        }
    }

    /// Returns a retry, because the person may be about to open the bot.
    private static func later(_ outcome: Outcome) -> Outcome {
        Outcome(.retry, status: outcome.status, retryAfter: pauseWhilePatient, reason: outcome.reason, scope: .device)
    }

    private func report(_ outcome: Outcome, now: Timestamp) {
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, _):
            reports.log(outcome.reason, .error, now: now, "Telegram does not know the bot: check its token")
        case (.retry, "chat-not-found"):
            reports.log(
                outcome.reason,
                .error,
                now: now,
                "Telegram knows none of the chats so far: check that the token belongs to the bot that people opened"
            )
        default: break
        }
    }
}
