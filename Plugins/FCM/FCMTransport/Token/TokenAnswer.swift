import PluginKit

/// What a token endpoint answered (RFC 6749 section 5). Without a token nothing of the project's can be sent, so what passes
/// is about the whole transport.
enum TokenAnswer: Sendable, Hashable {
    case granted(AccessGrant)
    /// What that means for those who wait.
    case failed(Outcome)

    /// Google's tokens have some 200 bytes up to 2 KiB, in bytes.
    private static let tokenLimit = 8192
    /// No token is used for longer, whatever the endpoint says, in seconds.
    private static let longestLifetime: Int64 = 86_400

    init(_ response: borrowing HTTPResponse, now: Int64) {
        switch response.status {
        case 0: self = .failed(Outcome(.retry, reason: response.failure, scope: .transport))
        case 200...299: self = TokenAnswer.granted(response)
        case 408, 429, 500...:
            let reason = response.status >= 500 ? "token-server-error" : "token-too-many-requests"
            let retryAfter = response.retryAfter(now: now)
            self = .failed(
                Outcome(
                    .retry,
                    status: response.status,
                    retryAfter: retryAfter,
                    reason: reason,
                    scope: .transport
                )
            )
        default:
            let code = (try? JSONObject(parsing: response.body.bytes))?["error"]?.string
            let reason = code.flatMap(OAuthError.init(rawValue:))?.label ?? "token-refused"
            self = .failed(Outcome(.misconfigured, status: response.status, reason: reason))
        }
    }

    private static func granted(_ response: borrowing HTTPResponse) -> TokenAnswer {
        let body = try? JSONObject(parsing: response.body.bytes)
        guard let token = body?["access_token"]?.string, (1...tokenLimit).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let lifetime = body?["expires_in"]?.integer, lifetime > 0,
            body?["token_type"]?.string.map({ $0.lowercased() == "bearer" }) ?? true
        else {
            return .failed(
                Outcome(.retry, status: response.status, reason: "token-unreadable", scope: .transport)
            )
        }
        return .granted(
            AccessGrant(authorization: "Bearer " + token, lifetime: min(lifetime, longestLifetime) * 1000)
        )
    }
}
