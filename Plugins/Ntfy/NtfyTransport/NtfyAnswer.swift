import PluginKit
import Units

/// An answer of ntfy and its outcome. The status decides, and the code in `{"code":42908,…}` refines it.
///
/// Never gone: a topic does not end. A refused access token concerns its owner only, and so do limits that ntfy counts
/// by account or by a topic's subscriber: neither may delay anybody else.
struct NtfyAnswer {
    /// ntfy grants a visitor one more request every five seconds.
    private static let refill: Duration = .seconds(5)
    /// After too many wrong tokens from one address, ntfy accepts one try a minute.
    private static let refillOfTrials: Duration = .minutes(1)

    /// The credentials are wrong.
    static let unauthorized = "unauthorized"

    private let answer: PushServiceAnswer
    private let hasAccount: Bool

    /// `hasAccount`: whether the request had credentials, so that limits are those of an account.
    init(_ response: borrowing HTTPResponse, hasAccount: Bool, now: Timestamp) {
        answer = PushServiceAnswer(response, now: now)
        self.hasAccount = hasAccount
    }

    var outcome: Outcome {
        switch answer.status {
        case 400: answer.outcome(.rejected, badRequest)
        case 401: answer.outcome(.rejected, NtfyAnswer.unauthorized)
        case 404, 410: answer.outcome(.rejected, answer.outcome.reason)
        case 429: limit
        default: answer.outcome
        }
    }

    /// The part of the message that ntfy refuses, mostly from the rule's block.
    private var badRequest: String {
        switch answer.code ?? 0 {
        case 40001, 40032...40037: "bad-contact"
        case 40002...40006: "bad-delay"
        case 40007: "bad-priority"
        case 40009, 40010: "bad-topic"
        case 40013...40015: "bad-attachment"
        case 40018: "bad-actions"
        case 40021: "bad-icon"
        case 40041...40045: "bad-template"
        default: "bad-request"
        }
    }

    private var limit: Outcome {
        switch answer.code ?? 0 {
        // Mails, subscriptions, topics, attachments, accounts, reservations, calls.
        case 42902...42907, 42910: limit("limit-reached", atLeast: NtfyAnswer.refill)
        case 42909: limit("too-many-wrong-tokens", atLeast: NtfyAnswer.refillOfTrials)
        case 42908: answer.outcome
        // An account's limit concerns that account. Without an account, all requests from here may count as one
        // visitor.
        default: hasAccount ? limit("too-many-requests", atLeast: NtfyAnswer.refill) : answer.outcome
        }
    }

    private func limit(_ reason: String, atLeast wait: Duration) -> Outcome {
        var outcome = answer.outcome(.retry, reason, .device)
        outcome.retryAfter = max(outcome.retryAfter, wait)
        return outcome
    }
}
