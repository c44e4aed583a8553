import Foundation

/// Why the token endpoint gives no token, in its own form: `{"error":"invalid_grant","error_description":"…"}` (RFC 6749
/// section 5.2).
struct OAuthRefusal: Error, Equatable {
    private struct Body: Encodable {
        var error: String
        var error_description: String?
    }

    var status = 400
    var error: String
    /// What the real endpoint says beside it.
    var words: String?
    /// What exactly was wrong. The real endpoint does not say it.
    var detail: String?

    static func invalidGrant(_ words: String, _ detail: String) -> OAuthRefusal {
        OAuthRefusal(error: "invalid_grant", words: words, detail: detail)
    }

    static func invalidRequest(_ words: String, _ detail: String) -> OAuthRefusal {
        OAuthRefusal(error: "invalid_request", words: words, detail: detail)
    }

    /// What a misbehaviour orders.
    static func ordered(_ answer: OrderedAnswer) -> OAuthRefusal {
        var refusal = usual(for: answer.status)
        refusal.status = answer.status
        refusal.error = answer.reason ?? refusal.error
        refusal.words = answer.message ?? refusal.words
        return refusal
    }

    /// What the endpoint says with a status when nothing was named.
    private static func usual(for status: Int) -> OAuthRefusal {
        switch status {
        case 401: OAuthRefusal(status: status, error: "invalid_client")
        case 403: OAuthRefusal(status: status, error: "access_denied")
        case 429: OAuthRefusal(status: status, error: "rate_limit_exceeded")
        case 500...: OAuthRefusal(status: status, error: "internal_failure")
        default: OAuthRefusal(status: status, error: "invalid_grant", words: "Invalid JWT Signature.")
        }
    }

    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(Body(error: error, error_description: words))).map(Array.init) ?? []
    }
}
