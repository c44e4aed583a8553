import PluginKit
import Units

/// An answer of Push Kit and its verdict: `{"code":"80000000","msg":"Success","requestId":"…"}`. The code decides,
/// whatever the HTTP status is; without a code that we know, the status.
struct HMSAnswer {
    enum Verdict: Hashable {
        case outcome(Outcome)
        /// The access token is refused. Another one may be accepted.
        case unauthenticated
        /// The token is of another app, or it is none any more. The outcome stands if ours has any devices.
        case foreign(Outcome)
    }

    private let status: UInt32
    private let code: HMSCode?
    /// Whether there is a code, known or not.
    private let hasCode: Bool
    /// What `msg` of ``HMSCode/partly`` says: whether our token is among the illegal ones.
    private let isIllegal: Bool
    /// The pause that `Retry-After` asks for.
    private let retryAfter: Duration
    /// Why there is no answer; only with status 0.
    private let failure: String

    /// `token` is the one that the message was for.
    init(_ response: borrowing HTTPResponse, to token: String, now: Timestamp) {
        status = response.status
        failure = response.failure
        // Bodies of proxies and overloaded servers need not be JSON.
        let body = try? response.body.jsonObject()
        let word = body?["code"]?.literalText
        hasCode = word != nil
        code = word.flatMap(HMSCode.init(rawValue:))
        isIllegal = code == .partly && HMSAnswer.names(body?["msg"]?.string ?? "", token)
        retryAfter = response.retryAfter(now: now)
    }

    /// `msg` is JSON as text: `{"success":0,"failure":1,"illegal_tokens":["…"]}`.
    private static func names(_ message: String, _ token: String) -> Bool {
        guard let report = try? JSONObject(parsing: message) else { return false }
        return report["success"]?.integer == 0
            || report["illegal_tokens"]?.elements?.contains { $0.string == token } == true
    }

    var verdict: Verdict {
        guard status != 0 else { return .outcome(Outcome(.retry, reason: failure)) }
        switch code {
        case .success: return outcome(.delivered, "delivered")
        case .partly: return isIllegal ? .foreign(plain(.gone, "invalid-token")) : outcome(.delivered, "delivered")
        case .badParameters: return outcome(.rejected, "bad-parameters")
        case .badStructure: return outcome(.rejected, "bad-message")
        case .tokenCount, .tooManyTokens: return outcome(.rejected, "token-count")
        case .expired: return outcome(.rejected, "expired")
        case .badCollapseKey: return outcome(.rejected, "bad-collapse-key")
        case .sensitive: return outcome(.rejected, "sensitive-content")
        case .notVerified: return outcome(.rejected, "not-verified")
        case .tooManyTasks: return outcome(.retry, "too-many-tasks", .transport)
        case .unauthenticated, .tokenExpired: return .unauthenticated
        case .forbidden: return .foreign(plain(.rejected, "forbidden"))
        case .invalidTokens: return .foreign(plain(.gone, "invalid-token"))
        case .tooLong: return outcome(.rejected, "payload-too-large")
        case .importanceForbidden: return outcome(.rejected, "importance-forbidden")
        case .badReceiptAddress: return outcome(.rejected, "bad-receipt-address")
        case .noAuthorization: return outcome(.retry, "authorization-unavailable", .transport)
        case .internal: return outcome(.retry, "internal")
        case nil: return verdictOfStatus
        }
    }

    private var verdictOfStatus: Verdict {
        switch status {
        // Such a message may or may not have been taken; a code that we do not know is no success.
        case 200...299: hasCode ? outcome(.rejected, "other") : outcome(.retry, "unreadable")
        case 300...399: outcome(.rejected, "redirect")
        case 400: outcome(.rejected, "bad-request")
        case 401: .unauthenticated
        case 404: outcome(.misconfigured, "app-not-found")
        case 408: outcome(.retry, "timeout")
        case 413: outcome(.rejected, "payload-too-large")
        case 429: outcome(.retry, "too-many-requests", .transport)
        case 400...499: outcome(.rejected, "other")
        // Huawei's flow control, which is by app.
        case 503: outcome(.retry, "flow-control", .transport)
        default: outcome(.retry, "server-error")
        }
    }

    private func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Verdict {
        .outcome(plain(kind, reason, scope))
    }

    private func plain(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(
            kind,
            status: status,
            retryAfter: kind == .retry ? retryAfter : .zero,
            reason: reason,
            scope: scope
        )
    }
}

/// Push Kit's codes for messages to tokens ("Response codes" of its REST API).
enum HMSCode: String, CaseIterable {
    case success = "80000000"
    /// Some tokens were invalid.
    case partly = "80100000"
    case badParameters = "80100001"
    case tokenCount = "80100002"
    case badStructure = "80100003"
    case expired = "80100004"
    case badCollapseKey = "80100013"
    case sensitive = "80100016"
    case tooManyTasks = "80100017"
    case notVerified = "80100018"
    /// There is no access token, or one of another app.
    case unauthenticated = "80200001"
    case tokenExpired = "80200003"
    /// The app may not send to these tokens, or not at all.
    case forbidden = "80300002"
    /// All tokens are invalid, or of another app.
    case invalidTokens = "80300007"
    case tooLong = "80300008"
    case tooManyTokens = "80300010"
    case importanceForbidden = "80300011"
    case badReceiptAddress = "80300013"
    case noAuthorization = "80600003"
    case `internal` = "81000001"
}
