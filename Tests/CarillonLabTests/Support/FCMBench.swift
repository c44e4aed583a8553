import CarillonLab
import Foundation
import Testing

/// A lab with FCM whose clock stands still, and curl's arguments for token requests and messages.
struct FCMBench {
    static let token = "cLabInstance:APA91b" + String(repeating: "Ab1-_", count: 24)
    static let message = #"{"message":{"token":"\#(token)","data":{"t":"dm"}}}"#
    /// Two accounts for all tests: making an RSA key takes a while.
    static let account = FCMServiceAccount(projectID: "my-project")
    static let otherAccount = FCMServiceAccount(projectID: "other-project")

    let lab: Lab
    let fcm: LabAddresses.FCM

    init(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws {
        lab = try await Lab.atRest {
            $0.fcm = LabConfiguration.FCM(accounts: [Self.account, Self.otherAccount])
            $0.unifiedPush = nil
            $0.webPush = nil
            change(&$0)
        }
        fcm = try #require(lab.addresses.fcm)
    }

    /// Returns curl's arguments for the exchange of an assertion.
    func exchange(_ assertion: String, grantType: String = ServiceAccountJWT.grantType) -> [String] {
        [
            "--http2", "--cacert", lab.addresses.caFile, fcm.tokenURL, "--data-urlencode", "grant_type=\(grantType)",
            "--data-urlencode", "assertion=\(assertion)",
        ]
    }

    func accessToken(of account: FCMServiceAccount = FCMBench.account) async throws -> String {
        let assertion = try await ServiceAccountJWT.make(account, audience: fcm.tokenURL, issuedAt: APNsBench.now)
        return try #require(try await Curl.run([exchange(assertion)])[0].json["access_token"] as? String)
    }

    /// Returns curl's arguments for a message.
    func send(
        _ body: String = message,
        accessToken: String?,
        project: String = account.projectID,
        contentType: String = "application/json",
        more: [String] = []
    ) -> [String] {
        let authorization = accessToken.map { ["-H", "authorization: Bearer \($0)"] } ?? []
        return [
            "--http2", "--cacert", lab.addresses.caFile, "\(fcm.url)/v1/projects/\(project)/messages:send",
            "--data-binary", body,
            "-H", "content-type: \(contentType)",
        ] + authorization + more
    }
}

extension Curl.Answer {
    private var error: [String: Any]? { json["error"] as? [String: Any] }

    /// The canonical code of an error of Google's APIs.
    var googleStatus: String? { error?["status"] as? String }

    var googleMessage: String? { error?["message"] as? String }

    private func details(_ type: String) -> [String: Any]? {
        (error?["details"] as? [[String: Any]])?.first { ($0["@type"] as? String)?.hasSuffix(type) == true }
    }

    /// FCM's own code.
    var fcmErrorCode: String? { details("google.firebase.fcm.v1.FcmError")?["errorCode"] as? String }

    /// The invalid field.
    var violation: String? {
        (details("google.rpc.BadRequest")?["fieldViolations"] as? [[String: Any]])?.first?["field"] as? String
    }
}

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
