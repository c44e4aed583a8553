import Cipher
import Core
import PluginKit

/// Gets access tokens for a service account from Google's token endpoint.
struct AccessTokenSource: Sendable {
    private static let timeout: Duration = .seconds(10)

    private let account: ServiceAccount
    private let host: Host
    private let now: @Sendable () -> Timestamp

    init(_ account: ServiceAccount, host: Host, now: @escaping @Sendable () -> Timestamp) {
        self.account = account
        self.host = host
        self.now = now
    }

    /// Exchanges an assertion for an access token. `completion` is called once, possibly before this returns.
    func request(_ completion: @escaping @Sendable (TokenAnswer) -> Void) {
        guard let form = try? TokenAssertion.form(account, now: now()) else {
            return completion(.failed(Outcome(.misconfigured, reason: "assertion-not-signed")))
        }
        var request = HTTPRequest("POST", url: account.tokenURL)
        request.timeout = AccessTokenSource.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("content-type", "application/x-www-form-urlencoded")
        request.body = form
        let admission = host.send(request) { [now] response in completion(TokenAnswer(response, now: now())) }
        if case .accepted = admission { return }
        completion(.failed(Outcome(.retry, reason: "busy")))
    }
}

/// The signed statement that a token endpoint exchanges for an access token (RFC 7523; Google, "Using OAuth 2.0 for
/// server to server applications").
enum TokenAssertion {
    static let scope: StaticString = "https://www.googleapis.com/auth/firebase.messaging"
    /// The lifetime, which is Google's limit.
    static let lifetime: Duration = .hours(1)

    /// Returns the form-encoded body of the request to the token endpoint. Throws only if signing fails.
    static func form(_ account: ServiceAccount, now: Timestamp) throws -> [UInt8] {
        // A JWT needs no escapes in a form.
        let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return [UInt8]("grant_type=\(grantType)&assertion=\(try jwt(account, now: now))".utf8)
    }

    private static func jwt(_ account: ServiceAccount, now: Timestamp) throws -> String {
        var header = JSONWriter(reservingBytes: 128)
        header.beginObject()
        header.key("alg")
        header.string("RS256")
        header.key("typ")
        header.string("JWT")
        header.key("kid")
        header.string(account.keyID)
        header.endObject()
        var claims = JSONWriter(reservingBytes: 384)
        claims.beginObject()
        claims.key("iss")
        claims.string(account.email)
        claims.key("scope")
        claims.string(scope.description)
        claims.key("aud")
        claims.string(account.tokenURL)
        claims.key("iat")
        claims.integer(now.seconds)
        claims.key("exp")
        claims.integer((now + lifetime).seconds)
        claims.endObject()
        let signed = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        return signed + "." + Base64URL.encode(try account.key.signRS256([UInt8](signed.utf8)))
    }
}

/// A response of a token endpoint (RFC 6749 section 5). Without a token no message of the project can be sent, so a
/// transient error affects the whole transport.
enum TokenAnswer: Sendable, Hashable {
    case granted(AccessGrant)
    /// The outcome of the waiting messages.
    case failed(Outcome)

    /// The maximum length in bytes. Google's tokens have 200 bytes to 2 KiB.
    private static let tokenLimit = 8192
    /// The longest use of a token, whatever the endpoint states.
    private static let longestLifetime: Duration = .days(1)

    /// Parses the endpoint's response.
    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        switch response.status {
        case 0: self = .failed(Outcome(.retry, reason: response.failure, scope: .transport))
        case 200...299: self = TokenAnswer.granted(response)
        case 408, 429, 500...:
            let reason = response.status >= 500 ? "token-server-error" : "token-too-many-requests"
            let retryAfter = response.retryAfter(now: now)
            self = .failed(
                Outcome(.retry, status: response.status, retryAfter: retryAfter, reason: reason, scope: .transport)
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
            return .failed(Outcome(.retry, status: response.status, reason: "token-unreadable", scope: .transport))
        }
        return .granted(
            AccessGrant(authorization: "Bearer " + token, lifetime: min(.seconds(lifetime), longestLifetime))
        )
    }
}

/// The error of a token endpoint (RFC 6749 section 5.2). A retry does not help.
enum OAuthError: String {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    /// Google: the key was deleted, the account disabled, or this machine's clock is wrong.
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"

    /// The error in the format of an outcome's reason: `invalid-grant`.
    var label: String { String(rawValue.map { $0 == "_" ? "-" : $0 }) }
}
