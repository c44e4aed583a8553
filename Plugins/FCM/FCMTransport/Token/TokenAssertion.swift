import Cipher
import PluginKit

/// The signed statement that a token endpoint exchanges for an access token (RFC 7523; Google, "Using OAuth 2.0 for
/// server to server applications").
enum TokenAssertion {
    static let scope: StaticString = "https://www.googleapis.com/auth/firebase.messaging"
    /// Google allows no more, in seconds.
    static let lifetime: Int64 = 3600

    /// The body of the request to the token endpoint, form-encoded. `now` in milliseconds since 1970. Throws only when
    /// signing fails.
    static func form(_ account: ServiceAccount, now: Int64) throws -> [UInt8] {
        // Nothing in a JWT needs escapes in a form.
        let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return [UInt8]("grant_type=\(grantType)&assertion=\(try jwt(account, now: now))".utf8)
    }

    private static func jwt(_ account: ServiceAccount, now: Int64) throws -> String {
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
        claims.integer(now / 1000)
        claims.key("exp")
        claims.integer(now / 1000 + lifetime)
        claims.endObject()
        let signed = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        return signed + "." + Base64URL.encode(try account.key.signRS256([UInt8](signed.utf8)))
    }
}
