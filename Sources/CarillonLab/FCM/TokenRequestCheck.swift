import Cipher
import Foundation

/// Checks a request for an access token as strictly as Google does ("Using OAuth 2.0 for server to server
/// applications").
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
    /// The tolerated difference of clocks, in seconds.
    private static let tolerance: Int64 = 300
    private static let longestLifetime: Int64 = 3_600

    let accounts: [FCMServiceAccount.Key]
    /// The expected `aud`.
    let tokenURL: String

    /// Returns the account that the assertion proves. `now` is in milliseconds since 1970.
    func check(_ request: LabRequest, now: Int64) throws(OAuthRefusal) -> FCMServiceAccount.Key {
        guard request.method == "POST" else {
            throw OAuthRefusal(status: 405, error: "invalid_request", detail: "the method is not POST")
        }
        let type = request.header("content-type")?.split(separator: ";").first.map(String.init)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else {
            throw .invalidRequest("Bad Request", "content-type is not application/x-www-form-urlencoded")
        }
        let form = LabRequest.parameters(of: String(decoding: request.body, as: UTF8.self))
        guard let grantType = form["grant_type"], grantType == Self.grantType else {
            throw OAuthRefusal(
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
            throw .invalidGrant("Invalid grant: account not found", "iss is no service account that the lab knows")
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
            throw OAuthRefusal(
                error: "invalid_scope",
                words: "Invalid OAuth scope or ID token audience provided.",
                detail: "scope is not that of firebase.messaging"
            )
        }
        return account
    }

    private static func checkTimes(_ claims: Claims, now: Int64) throws(OAuthRefusal) {
        let words =
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and "
            + "exp values in the JWT claim."
        guard claims.iat <= now + tolerance else {
            throw .invalidGrant(words, "iat lies \(claims.iat - now) s in the future")
        }
        guard claims.exp > now else { throw .invalidGrant(words, "exp has passed") }
        guard claims.exp > claims.iat, claims.exp - claims.iat <= longestLifetime else {
            throw .invalidGrant(words, "exp is not within an hour of iat")
        }
    }
}

/// Why the token endpoint refuses, in its own form: `{"error":"invalid_grant","error_description":"…"}` (RFC 6749
/// section 5.2).
struct OAuthRefusal: Error, Equatable {
    private struct Body: Encodable {
        var error: String
        var error_description: String?
    }

    var status = 400
    var error: String
    /// The message of the real endpoint.
    var words: String?
    /// The exact error. The real endpoint does not say it.
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

    /// The usual refusal of a status.
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
