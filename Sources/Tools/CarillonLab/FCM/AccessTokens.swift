import Cipher
import Foundation

/// The valid access tokens and their accounts.
struct AccessTokens<Account: Sendable>: Sendable {
    private struct Granted: Sendable {
        var account: Account
        /// Milliseconds since 1970.
        var expiresAt: Int64
    }

    /// More than a test needs, and few enough for a lab that runs for weeks.
    private static var limit: Int { 10_000 }

    private var granted: [String: Granted] = [:]

    /// Makes a new token. `lifetime` is in milliseconds.
    mutating func grant(to account: Account, lifetime: Int64, now: Int64, random: RandomBytes) -> String {
        granted = granted.filter { $0.value.expiresAt > now }
        if granted.count >= Self.limit {
            granted.removeAll()
        }
        let token = "ya29.c.lab-" + Base64URL.encode(random(96))
        granted[token] = Granted(account: account, expiresAt: now + lifetime)
        return token
    }

    /// The account of a token; nil if it is unknown or expired.
    func account(of token: String, now: Int64) -> Account? {
        guard let found = granted[token], found.expiresAt > now else { return nil }
        return found.account
    }

    mutating func revokeAll() {
        granted.removeAll()
    }
}

/// A JSON Web Token (RFC 7519) in its compact form, parsed but not verified.
struct JSONWebToken<Header: Decodable, Claims: Decodable> {
    let header: Header
    let claims: Claims
    /// The signed bytes.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Nil if the text is not a token, or lacks a member of `Header` or `Claims`.
    init?(reading text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header: Header = Self.decode(String(parts[0])), let claims: Claims = Self.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2]))
        else { return nil }
        self.header = header
        self.claims = claims
        signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
    }

    private static func decode<Value: Decodable>(_ part: String) -> Value? {
        Base64URL.decode(part).flatMap { try? JSONDecoder().decode(Value.self, from: Data($0)) }
    }
}

/// Checks a request for an access token as strictly as Google ("Using OAuth 2.0 for server to server applications").
struct TokenRequestCheck {
    private struct Header: Decodable {
        var alg: String
        var typ: String?
        var kid: String?
    }

    private struct Claims: Decodable {
        var iss: String
        var scope: String?
        var aud: String
        var iat: Int64
        var exp: Int64
    }

    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes: Set = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    /// The tolerated clock skew, in seconds.
    private static let tolerance: Int64 = 300
    private static let longestLifetime: Int64 = 3_600

    let accounts: [FCMServiceAccount.Key]
    /// The expected `aud`.
    let tokenURL: String

    /// Returns the account that the assertion proves. `now` is in milliseconds since 1970.
    func check(_ request: LabRequest, now: Int64) throws(TokenEndpointError) -> FCMServiceAccount.Key {
        guard request.method == "POST" else {
            throw TokenEndpointError(status: 405, error: "invalid_request", detail: "the method is not POST")
        }
        let type = request.header("content-type")?.split(separator: ";").first.map(String.init)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else {
            throw .invalidRequest("Bad Request", "content-type is not application/x-www-form-urlencoded")
        }
        let form = LabRequest.parameters(of: String(decoding: request.body, as: UTF8.self))
        guard let grantType = form["grant_type"], grantType == Self.grantType else {
            throw TokenEndpointError(
                error: "unsupported_grant_type",
                words: "Invalid grant_type: \(form["grant_type"] ?? "")",
                detail: "grant_type is not \(Self.grantType)"
            )
        }
        guard let assertion = form["assertion"], let token = JSONWebToken<Header, Claims>(reading: assertion) else {
            throw .invalidRequest("Bad Request", "assertion is not a JWT with alg, iss, aud, iat and exp")
        }
        guard token.header.alg == "RS256", token.header.typ.map({ $0 == "JWT" }) ?? true else {
            throw .invalidGrant("Invalid JWT Signature.", "the assertion's alg is not RS256, or its typ not JWT")
        }
        guard let account = accounts.first(where: { $0.email == token.claims.iss }) else {
            throw .invalidGrant("Invalid grant: account not found", "iss is not a service account of the lab")
        }
        guard token.header.kid.map({ $0 == account.keyID }) ?? true,
            account.publicKey.isValidRS256(token.signature, for: token.signed)
        else {
            throw .invalidGrant("Invalid JWT Signature.", "kid or signature are not of this account's key")
        }
        guard token.claims.aud == tokenURL else {
            throw .invalidGrant("Invalid JWT: Failed audience check.", "aud is not \(tokenURL)")
        }
        try Self.checkTimes(token.claims, now: now / 1_000)
        let scopes = (token.claims.scope ?? "").split(separator: " ").map(String.init)
        guard !scopes.isEmpty, scopes.allSatisfy(Self.scopes.contains) else {
            throw TokenEndpointError(
                error: "invalid_scope",
                words: "Invalid OAuth scope or ID token audience provided.",
                detail: "scope is not that of firebase.messaging"
            )
        }
        return account
    }

    private static func checkTimes(_ claims: Claims, now: Int64) throws(TokenEndpointError) {
        let words =
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and "
            + "exp values in the JWT claim."
        guard claims.iat <= now + tolerance else {
            throw .invalidGrant(words, "iat is \(claims.iat - now) s in the future")
        }
        guard claims.exp > now else { throw .invalidGrant(words, "exp has passed") }
        guard claims.exp > claims.iat, claims.exp - claims.iat <= longestLifetime else {
            throw .invalidGrant(words, "exp is not within an hour of iat")
        }
    }
}

/// A refusal of the token endpoint, in its own format: `{"error":"invalid_grant","error_description":"…"}` (RFC 6749
/// section 5.2).
struct TokenEndpointError: Error, Equatable {
    var status = 400
    var error: String
    /// The message of the real endpoint.
    var words: String?
    /// The exact error. The real endpoint does not return it.
    var detail: String?

    static func invalidGrant(_ words: String, _ detail: String) -> TokenEndpointError {
        TokenEndpointError(error: "invalid_grant", words: words, detail: detail)
    }

    static func invalidRequest(_ words: String, _ detail: String) -> TokenEndpointError {
        TokenEndpointError(error: "invalid_request", words: words, detail: detail)
    }

    /// The refusal that a misbehaviour orders.
    static func ordered(_ answer: OrderedAnswer) -> TokenEndpointError {
        var refusal = usual(for: answer.status)
        refusal.status = answer.status
        refusal.error = answer.reason ?? refusal.error
        refusal.words = answer.message ?? refusal.words
        return refusal
    }

    /// The usual refusal of a status.
    private static func usual(for status: Int) -> TokenEndpointError {
        switch status {
        case 401: TokenEndpointError(status: status, error: "invalid_client")
        case 403: TokenEndpointError(status: status, error: "access_denied")
        case 429: TokenEndpointError(status: status, error: "rate_limit_exceeded")
        case 500...: TokenEndpointError(status: status, error: "internal_failure")
        default: TokenEndpointError(status: status, error: "invalid_grant", words: "Invalid JWT Signature.")
        }
    }

    var reply: LabReply {
        var members: [String: JSONValue] = ["error": .string(error)]
        members["error_description"] = words.map(JSONValue.string)
        let body = Array(JSONValue.object(members).compact.utf8)
        return LabReply(answer: HTTPAnswer(status: status, json: body), reason: error, detail: detail)
    }
}
