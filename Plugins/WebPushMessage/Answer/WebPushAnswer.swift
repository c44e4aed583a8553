internal import PluginKit

/// What a push service of browsers or of UnifiedPush answered, and what follows from it: what RFC 8030 says, refined by what
/// Apple, Mozilla, Google and Microsoft say beside the status.
struct WebPushAnswer {
    enum Verdict: Hashable {
        case outcome(Outcome)
        /// The subscription was made with another key than the one that signed.
        case keyMismatch
        /// Our token is refused; `isCertain`: there is no doubt that it is the token, whatever the subscription.
        case tokenRefused(reason: String, isCertain: Bool)
    }

    /// Apple says it with 400, Mozilla with 401, Google and Microsoft with 403.
    private static let statusesOfMismatch: Set<UInt32> = [400, 401, 403]

    private let answer: PushServiceAnswer
    private let service: PushService
    private let detail: WebPushDetail?

    /// `now` is in milliseconds since 1970.
    init(_ response: borrowing HTTPResponse, of service: PushService, now: Int64) {
        answer = PushServiceAnswer(response, now: now)
        self.service = service
        detail = WebPushDetail(response, of: service)
    }

    var verdict: Verdict {
        switch (answer.status, detail) {
        case (let status, .keyMismatch) where Self.statusesOfMismatch.contains(status): .keyMismatch
        case (401, .badVAPID): .tokenRefused(reason: WebPushDetail.badVAPID.rawValue, isCertain: false)
        case (401, nil) where service == .google: .tokenRefused(reason: "unauthorized", isCertain: false)
        case (401, .badJWTToken?):
            .tokenRefused(reason: WebPushDetail.badJWTToken.rawValue, isCertain: false)
        case (403, .badAuthorizationHeader?), (403, .badJWTToken?), (403, .badVAPIDPublicKey?):
            .tokenRefused(reason: detail?.rawValue ?? "forbidden", isCertain: service == .apple || service == .google)
        default: .outcome(outcome)
        }
    }

    /// The outcome of a kind that a verdict leads to, with the status.
    func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        answer.outcome(kind, reason, scope)
    }

    private var outcome: Outcome {
        switch (answer.status, detail) {
        // One subscription's limit, Microsoft says.
        case (200...299, .dropped), (200...299, .throttled): return answer.outcome(.retry, reason, .device)
        case (406, .throttled): return answer.outcome(.retry, reason, .host)
        // "Too many requests for the same device token": anybody can bring that about for his own.
        case (429, .tooManyRequests) where service == .apple: return answer.outcome(.retry, reason, .device)
        case (400, .idleTimeout): return answer.outcome(.retry, reason, .device)
        case (404, .badPath): return answer.outcome(.rejected, reason)
        case (503, .immediateRetry):
            var outcome = answer.outcome(.retry, reason, .device)
            // The answer asks for two minutes all the same.
            outcome.retryAfter = 0
            return outcome
        case (502, .bridgeTrouble): return answer.outcome(.retry, reason, .device)
        case (0, _), (200...299, _), (404, _), (410, _), (413, _), (500..., _): return answer.outcome
        default:
            var outcome = answer.outcome
            outcome.reason = detail?.rawValue ?? outcome.reason
            return outcome
        }
    }

    private var reason: String { detail?.rawValue ?? "other" }
}
