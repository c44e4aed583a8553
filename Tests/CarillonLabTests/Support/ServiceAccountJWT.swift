import CarillonLab
import Foundation

/// Assertions of a service account, signed by the openssl command.
enum ServiceAccountJWT {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    /// `change` edits the claims; `header` replaces the header.
    static func make(
        _ account: FCMServiceAccount,
        audience: String,
        issuedAt: Int64,
        header: String? = nil,
        _ change: (inout [String: Any]) -> Void = { _ in }
    ) async throws -> String {
        var claims: [String: Any] = [
            "iss": account.clientEmail, "scope": scope, "aud": audience, "iat": issuedAt, "exp": issuedAt + 3600,
        ]
        change(&claims)
        let header = header ?? #"{"alg":"RS256","typ":"JWT","kid":"\#(account.privateKeyID)"}"#
        let text = Array(try JSONSerialization.data(withJSONObject: claims))
        let signed = ProviderJWT.base64URL(Array(header.utf8)) + "." + ProviderJWT.base64URL(text)
        let result = try await TemporaryFile.with(Array(account.privateKeyPEM.utf8)) { keyFile in
            try await Tool.run("openssl", ["dgst", "-sha256", "-sign", keyFile], input: Array(signed.utf8))
        }
        return signed + "." + ProviderJWT.base64URL(result.output)
    }
}
