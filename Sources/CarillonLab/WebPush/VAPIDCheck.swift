import Cipher
import Foundation

/// Judges the `Authorization` of a message (RFC 8292) as Apple does, who is stricter than the RFC.
struct VAPIDCheck {
    private struct Header: Decodable {
        var alg: String
        var typ: String?
    }

    private struct Claims: Decodable {
        var aud: String
        var exp: Int64
        var sub: String
    }

    private static let longestLifetime: Int64 = 86_400

    /// The service's own, `https://localhost:PORT`.
    let origin: String
    /// In seconds since 1970.
    let now: Int64

    /// Whose message it is: the public key, in base64url.
    func check(_ authorization: String?) throws(WebPushRefusal) -> String {
        let (token, publicKey) = try parameters(authorization)
        guard let point = Base64URL.decode(publicKey), let key = try? P256PublicKey(x963Representation: point) else {
            throw WebPushRefusal(403, "BadVapidPublicKey", "k is not an uncompressed point on P-256 in base64url")
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decode(Header.self, parts[0]),
            let signature = Base64URL.decode(String(parts[2]))
        else { throw .badToken("t is not a JWT of three parts with alg") }
        guard header.alg == "ES256", header.typ == nil || header.typ == "JWT" else {
            throw .badToken("the token's alg is not ES256, or its typ not JWT")
        }
        guard signature.count == 64, key.isValidES256(signature, for: Array("\(parts[0]).\(parts[1])".utf8)) else {
            throw .badToken("the token's signature does not hold for k")
        }
        guard let claims = Self.decode(Claims.self, parts[1]) else {
            throw .badToken("the token has not all of aud and sub (texts) and exp (a whole number)")
        }
        guard claims.aud == origin else { throw .badToken("the token's aud is not \(origin)") }
        guard claims.exp > now else { throw .badToken("the token has expired") }
        guard claims.exp <= now + Self.longestLifetime else {
            throw .badToken("the token's exp is more than a day away")
        }
        guard claims.sub.hasPrefix("mailto:") || claims.sub.hasPrefix("https:") else {
            throw .badToken("the token's sub is neither a mailto: nor an https: URL")
        }
        return publicKey
    }

    private func parameters(_ authorization: String?) throws(WebPushRefusal) -> (token: Substring, publicKey: String) {
        guard let words = authorization?.split(separator: " ", maxSplits: 1), words.count == 2,
            words[0].lowercased() == "vapid"
        else { throw WebPushRefusal(403, "BadAuthorizationHeader", "there is no authorization of the scheme vapid") }
        var parameters: [Substring: Substring] = [:]
        for pair in words[1].split(separator: ",") {
            let parts = pair.trimmingPrefix { $0 == " " || $0 == "\t" }.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parameters.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw WebPushRefusal(403, "BadAuthorizationHeader", "authorization is not vapid t=…, k=…")
            }
        }
        guard let token = parameters["t"], let publicKey = parameters["k"] else {
            throw WebPushRefusal(403, "BadAuthorizationHeader", "authorization lacks t or k")
        }
        return (token, String(publicKey))
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ part: Substring) -> Value? {
        Base64URL.decode(String(part)).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }
}
