/// Why a token endpoint refuses (RFC 6749 section 5.2); nothing that trying again would change.
enum OAuthError: String {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    /// Google: the key was deleted, the account disabled, or this machine's clock is wrong.
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"

    /// The word as an outcome's: `invalid-grant`.
    var label: String { String(rawValue.map { $0 == "_" ? "-" : $0 }) }
}
