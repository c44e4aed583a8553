import Cipher
import Foundation

/// A provider's JSON Web Token, read but not believed ("Establishing a token-based connection to APNs").
struct ProviderToken {
    private struct Header: Decodable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable {
        var iss: String
        var iat: Int64
    }

    var keyID: String
    var teamID: String
    /// Seconds since 1970.
    var issuedAt: Int64
    private var signed: [UInt8]
    private var signature: [UInt8]

    init(reading text: Substring) throws(APNsRefusal) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decode(Header.self, parts[0]),
            let claims = Self.decode(Claims.self, parts[1]), let signature = Base64URL.decode(String(parts[2]))
        else {
            throw APNsRefusal(
                .invalidProviderToken,
                "the token is not a JWT with alg and kid, iss and iat (a whole number)"
            )
        }
        guard header.alg == "ES256" else {
            throw APNsRefusal(.invalidProviderToken, "the token's alg is not ES256")
        }
        keyID = header.kid
        teamID = claims.iss
        issuedAt = claims.iat
        signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
    }

    func isSigned(by key: P256PublicKey) -> Bool {
        signature.count == 64 && key.isValidES256(signature, for: signed)
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ part: Substring) -> Value? {
        Base64URL.decode(String(part)).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }
}
