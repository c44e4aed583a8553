import Cipher
import Foundation
import Testing

/// A value of `Authorization` taken apart as RFC 8292 section 3 has it, its signature checked.
struct ReadAuthorization {
    let header: String
    let claims: String
    /// In base64url.
    let publicKey: String
    /// The two parts that are signed.
    let signed: String
    let isSigned: Bool

    init(_ value: String) throws {
        let parts = try #require(value.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+),k=([\w-]+)/)).output
        let text = { (part: Substring) in String(decoding: try #require(Base64URL.decode(String(part))), as: UTF8.self)
        }
        header = try text(parts.1)
        claims = try text(parts.2)
        publicKey = String(parts.4)
        signed = "\(parts.1).\(parts.2)"
        let key = try P256PublicKey(x963Representation: #require(Base64URL.decode(publicKey)))
        isSigned = key.isValidES256(try #require(Base64URL.decode(String(parts.3))), for: [UInt8](signed.utf8))
    }

    /// Seconds since 1970.
    var expiry: Int64 {
        get throws {
            let object = try JSONSerialization.jsonObject(with: Data(claims.utf8)) as? [String: Any]
            return try #require(object?["exp"] as? Int64)
        }
    }

    var audience: String {
        get throws {
            let object = try JSONSerialization.jsonObject(with: Data(claims.utf8)) as? [String: Any]
            return try #require(object?["aud"] as? String)
        }
    }
}
