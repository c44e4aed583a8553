import Cipher
import Foundation

/// A value of `Authorization` taken apart as RFC 8292 section 3 has it, its signature checked.
package struct ReadAuthorization {
    /// The value is malformed, or its signature does not match the key.
    package struct Mistake: Error {}

    package let header: String
    package let claims: String
    /// In base64url.
    package let publicKey: String
    /// The two parts that are signed.
    package let signed: String
    package let isSigned: Bool

    package init(_ value: String) throws {
        guard let parts = value.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)/)?.output else {
            throw Mistake()
        }
        header = try String(decoding: Self.bytes(parts.1), as: UTF8.self)
        claims = try String(decoding: Self.bytes(parts.2), as: UTF8.self)
        publicKey = String(parts.4)
        signed = "\(parts.1).\(parts.2)"
        let key = try P256PublicKey(x963Representation: Self.bytes(parts.4))
        isSigned = key.isValidES256(try Self.bytes(parts.3), for: [UInt8](signed.utf8))
    }

    /// Seconds since 1970.
    package var expiry: Int64 {
        get throws { try claim("exp") }
    }

    package var audience: String {
        get throws { try claim("aud") }
    }

    private func claim<Value>(_ name: String) throws -> Value {
        let object = try JSONSerialization.jsonObject(with: Data(claims.utf8)) as? [String: Any]
        guard let value = object?[name] as? Value else { throw Mistake() }
        return value
    }

    private static func bytes(_ part: Substring) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(String(part)) else { throw Mistake() }
        return bytes
    }
}
