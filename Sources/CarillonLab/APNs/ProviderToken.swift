import Cipher

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
        guard let token = JSONWebToken<Header, Claims>(reading: text) else {
            throw APNsRefusal(
                .invalidProviderToken,
                "the token is not a JWT with alg and kid, iss and iat (a whole number)"
            )
        }
        guard token.header.alg == "ES256" else {
            throw APNsRefusal(.invalidProviderToken, "the token's alg is not ES256")
        }
        keyID = token.header.kid
        teamID = token.claims.iss
        issuedAt = token.claims.iat
        signed = token.signed
        signature = token.signature
    }

    func isSigned(by key: P256PublicKey) -> Bool {
        signature.count == 64 && key.isValidES256(signature, for: signed)
    }
}
