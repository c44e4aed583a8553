import Cipher

/// Checks the `Authorization` of a message (RFC 8292) as push services do.
struct VAPIDCheck {
    private struct Header: Decodable {
        var alg: String
        var typ: String?
    }

    private static let longestLifetime: Int64 = 86_400

    /// The service's origin, `https://localhost:PORT`.
    let origin: String
    /// In seconds since 1970.
    let now: Int64
    /// Whether a contact is required, as by Apple. The RFC only recommends it.
    let needsSubject: Bool

    /// Returns the sender's public key, in base64url.
    func check(_ authorization: String?) throws(WebPushError) -> String {
        let (text, publicKey) = try parameters(authorization)
        guard let point = Base64URL.decode(publicKey), let key = try? P256PublicKey(x963Representation: point) else {
            throw WebPushError(.badPublicKey, "k is not an uncompressed point on P-256 in base64url")
        }
        guard let token = JSONWebToken<Header, JSONValue>(reading: text) else {
            throw WebPushError(.badToken, "t is not a JWT of three parts with alg")
        }
        guard token.header.alg == "ES256", token.header.typ == nil || token.header.typ == "JWT" else {
            throw WebPushError(.badToken, "the token's alg is not ES256, or its typ not JWT")
        }
        guard token.signature.count == 64, key.isValidES256(token.signature, for: token.signed) else {
            throw WebPushError(.badToken, "the token's signature does not hold for k")
        }
        guard let audience = token.claims["aud"]?.string, let expiry = token.claims["exp"]?.integer,
            token.claims["sub"].map({ $0 == .null || $0.string != nil }) ?? true
        else {
            throw WebPushError(
                .badToken,
                "the token has not aud (a text) and exp (a whole number), or sub is not a string"
            )
        }
        guard audience == origin else { throw WebPushError(.badToken, "the token's aud is not \(origin)") }
        guard expiry > now else { throw WebPushError(.badToken, "the token has expired") }
        guard expiry <= now + Self.longestLifetime else {
            throw WebPushError(.badToken, "the token's exp is more than a day away")
        }
        let subject = token.claims["sub"]?.string
        guard subject.map({ $0.hasPrefix("mailto:") || $0.hasPrefix("https:") }) ?? !needsSubject else {
            throw WebPushError(.badToken, "the token's sub is neither a mailto: nor an https: URL")
        }
        return publicKey
    }

    private func parameters(_ authorization: String?) throws(WebPushError) -> (token: Substring, publicKey: String) {
        guard let authorization else { throw WebPushError(.missingAuthorization, "there is no authorization") }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "vapid"
        else { throw WebPushError(.badAuthorization, "there is no authorization of the scheme vapid") }
        var parameters: [Substring: Substring] = [:]
        for pair in words[1].split(separator: ",") {
            let parts = pair.trimmingPrefix { $0 == " " || $0 == "\t" }.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parameters.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw WebPushError(.badAuthorization, "authorization is not vapid t=…, k=…")
            }
        }
        guard let token = parameters["t"], let publicKey = parameters["k"] else {
            throw WebPushError(.badAuthorization, "authorization lacks t or k")
        }
        return (token, String(publicKey))
    }
}

/// An operator's key for Web Push (RFC 8292).
public struct VAPIDCredentials: Sendable, Hashable {
    /// PKCS#8.
    public var keyPEM: String
    /// The key that browsers subscribe with: the uncompressed point in base64url.
    public var applicationServerKey: String

    /// Makes a new key.
    public init() {
        self.init(P256PrivateKey())
    }

    /// Takes an existing key. Throws `LabError` if it is not a P-256 key in PEM.
    public init(keyPEM: String) throws {
        guard let key = try? P256PrivateKey(pem: keyPEM) else {
            throw LabError.invalid("The VAPID key is not a private key on P-256 in PEM.")
        }
        self.init(key)
    }

    private init(_ key: P256PrivateKey) {
        keyPEM = key.pemRepresentation
        applicationServerKey = Base64URL.encode(key.publicKey.x963Representation)
    }
}

extension VAPIDCredentials: CustomStringConvertible {
    /// Without the private key.
    public var description: String { "VAPIDCredentials(applicationServerKey: \(applicationServerKey))" }
}
