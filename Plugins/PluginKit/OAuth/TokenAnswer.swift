import Units

/// An answer of a token endpoint (RFC 6749 section 5). Without a token nothing can be sent for the project, so a
/// passing failure concerns the whole transport.
package enum TokenAnswer: Sendable, Hashable {
    case granted(AccessGrant)
    /// The outcome for the messages that wait.
    case failed(Outcome)

    /// In bytes. Google's tokens have 200 bytes to 2 KiB, Huawei's some hundred.
    private static let tokenLimit = 8192
    /// No token is used longer, whatever the endpoint says.
    private static let longestLifetime: Duration = .days(1)

    /// Reads the endpoint's answer.
    package init(_ response: borrowing HTTPResponse, now: Timestamp) {
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
            token.utf8.allSatisfy(\.isVisibleASCII),
            let lifetime = body?["expires_in"]?.integer, lifetime > 0,
            body?["token_type"]?.string.map({ $0.lowercased() == "bearer" }) ?? true
        else {
            return .failed(
                Outcome(.retry, status: response.status, reason: "token-unreadable", scope: .transport)
            )
        }
        return .granted(
            AccessGrant(authorization: "Bearer " + token, lifetime: min(.seconds(lifetime), longestLifetime))
        )
    }
}

/// Why a token endpoint refuses (RFC 6749 section 5.2). Trying again does not help.
package enum OAuthError: String {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    /// Google: the key was deleted, the account disabled, or this machine's clock is wrong.
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"

    /// The word in the form of an outcome's reason: `invalid-grant`.
    package var label: String { String(rawValue.map { $0 == "_" ? "-" : $0 }) }
}
