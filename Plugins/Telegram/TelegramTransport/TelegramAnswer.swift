import Core
import PluginKit
import Synchronization

/// A response of the Bot API to `sendMessage`: `{"ok":true,…}` or `{"ok":false,"error_code":403,"description":"…"}`.
///
/// Telegram distinguishes errors only by the text, in English.
struct TelegramAnswer {
    enum Decision: Hashable {
        case outcome(Outcome)
        /// The bot does not know the chat: its person has not opened it yet, or it belongs to another bot.
        case unknownChat(Outcome)
        /// The group has another number now.
        case moved(to: Int64)
        /// Too many messages in a short time: either those to this chat, or all of them.
        case flooded(Outcome)
    }

    /// Texts of 400 and 403 that mean that the chat is permanently unavailable.
    private static let ends: [(part: StaticString, reason: String)] = [
        ("blocked by the user", "blocked"), ("user is deactivated", "deactivated"), ("was kicked", "kicked"),
        ("is not a member", "not-a-member"), ("chat was deleted", "chat-deleted"),
        ("chat was deactivated", "chat-deleted"),
    ]

    let status: UInt32
    private let failure: String
    private let isGood: Bool
    /// The description in lower case.
    private let description: String
    private let migratesTo: Int64?
    private let retryAfter: Duration

    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        status = response.status
        failure = response.failure
        // Bodies of proxies and overloaded servers need not be JSON.
        let body = try? response.body.jsonObject()
        let parameters = body?["parameters"]?.object
        isGood = body?["ok"]?.bool != false
        description = (body?["description"]?.string ?? "").lowercased()
        migratesTo = parameters?["migrate_to_chat_id"]?.integer
        let seconds = parameters?["retry_after"]?.integer ?? 0
        retryAfter =
            (1...86_400).contains(seconds) ? .seconds(seconds) : response.retryAfter(now: now)
    }

    var decision: Decision {
        switch status {
        case 0: .outcome(Outcome(.retry, reason: failure))
        case 200...299:
            // An unreadable body counts as success: a repeated message is worse than a missing one.
            isGood ? outcome(.delivered, "delivered") : outcome(.retry, "unreadable")
        case 300...399: outcome(.rejected, "redirect")
        case 400: refusal
        case 401, 404: outcome(.misconfigured, "bad-bot-token")
        case 403: refusal
        case 408: outcome(.retry, "timeout")
        case 413: outcome(.rejected, "payload-too-large")
        case 429: .flooded(plain(.retry, "too-many-requests"))
        case 400...499: outcome(.rejected, "other")
        case 503: outcome(.retry, "server-error", .transport)
        default: outcome(.retry, "server-error")
        }
    }

    private var refusal: Decision {
        if let migratesTo { return .moved(to: migratesTo) }
        if let end = Self.ends.first(where: { says($0.part) }) { return outcome(.gone, end.reason) }
        if says("chat not found") || says("peer_id_invalid") { return .unknownChat(plain(.gone, "chat-not-found")) }
        if says("initiate conversation") { return .unknownChat(plain(.rejected, "not-started")) }
        if says("message is too long") { return outcome(.rejected, "payload-too-large") }
        if says("rights") { return outcome(.rejected, "no-rights") }
        return outcome(.rejected, status == 403 ? "forbidden" : "bad-request")
    }

    private func says(_ part: StaticString) -> Bool { description.firstRange(of: part.description) != nil }

    private func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Decision {
        .outcome(plain(kind, reason, scope))
    }

    private func plain(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : .zero, reason: reason, scope: scope)
    }
}

/// Decides whether a 429 concerns one chat or the bot, which Telegram does not report: if another chat gets a 429 while
/// one has to wait, it concerns the bot.
final class FloodControl: Sendable {
    private struct Flood: Sendable {
        let chat: Int64
        let endsAt: Timestamp
    }

    private static let usualWait: Duration = .seconds(5)

    private let last = Mutex<Flood?>(nil)

    /// Returns `outcome` with the scope of the delay.
    func judge(_ outcome: Outcome, to chat: Int64, now: Timestamp) -> Outcome {
        var outcome = outcome
        if outcome.retryAfter == .zero { outcome.retryAfter = Self.usualWait }
        outcome.scope = last.withLock { last in
            let isOthers = last.map { $0.chat != chat && now < $0.endsAt } ?? false
            last = Flood(chat: chat, endsAt: now + outcome.retryAfter)
            return isOthers ? .transport : .device
        }
        return outcome
    }
}
