import CarillonLab
import Foundation

/// A lab whose clock stands still, and the arguments that make curl send it a good alert.
struct APNsBench {
    static let now: Int64 = 1_800_000_000
    static let token = String(repeating: "ab", count: 32)
    static let alert = #"{"aps":{"alert":"hello"}}"#

    let lab: Lab
    let jwt: String

    init(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws {
        lab = try await Lab.atRest(change)
        jwt = try await ProviderJWT.make(lab.credentials, issuedAt: Self.now)
    }

    /// Returns curl's arguments for a valid request with these changes; nil removes a header.
    func request(
        path: String = "/3/device/" + token,
        jwt: String?? = nil,
        headers: [String: String?] = [:],
        more: [String] = [],
        body: String = alert,
        url: String? = nil
    ) -> [String] {
        var all: [String: String?] = [
            "authorization": (jwt ?? self.jwt).map { "bearer " + $0 },
            "apns-topic": lab.credentials.topic,
            "apns-push-type": "alert",
        ]
        all.merge(headers) { $1 }
        let fields = all.sorted { $0.key < $1.key }.compactMap { name, value in value.map { "\(name): \($0)" } }
        return ["--http2", "--cacert", lab.addresses.caFile, "--data-binary", body, (url ?? lab.apnsURL) + path] + more
            + fields.flatMap { ["-H", $0] }
    }

    func send(_ requests: [String]...) async throws -> [Curl.Answer] {
        try await Curl.run(requests)
    }

    /// Returns the frames that nghttp saw for a valid request.
    func frames(_ more: String...) async throws -> String {
        try await TemporaryFile.with(Array(Self.alert.utf8)) { body in
            try await Tool.run(
                "nghttp",
                ["-nv", "-t", "5", "-d", body, "-H", ":method: POST", "-H", "authorization: bearer \(jwt)"]
                    + ["-H", "apns-topic: \(lab.credentials.topic)", "-H", "apns-push-type: alert"]
                    + [lab.apnsURL + "/3/device/" + Self.token] + more
            ).text
        }
    }
}

extension Lab {
    /// A lab whose clock stands still.
    static func atRest(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws -> Lab {
        var configuration = LabConfiguration()
        configuration.now = { APNsBench.now * 1_000 }
        change(&configuration)
        return try await start(configuration)
    }
}

/// Provider tokens signed by the openssl command.
enum ProviderJWT {
    static func make(
        _ credentials: LabCredentials,
        algorithm: String = "ES256",
        keyID: String? = nil,
        teamID: String? = nil,
        issuedAt: Int64
    ) async throws -> String {
        let header = #"{"alg":"\#(algorithm)","kid":"\#(keyID ?? credentials.keyID)"}"#
        let claims = #"{"iss":"\#(teamID ?? credentials.teamID)","iat":\#(issuedAt)}"#
        return try await sign(header: header, claims: claims, keyPEM: credentials.keyPEM)
    }

    /// Returns a token with this header and claims, signed with a key on P-256.
    static func sign(header: String, claims: String, keyPEM: String) async throws -> String {
        let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        let result = try await TemporaryFile.with(Array(keyPEM.utf8)) { keyFile in
            try await Tool.run("openssl", ["dgst", "-sha256", "-sign", keyFile], input: Array(signed.utf8))
        }
        return signed + "." + base64URL(try raw(result.output))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private struct NotDER: Error {}

    /// Returns r and s, 32 bytes each, from a DER sequence of two short integers.
    private static func raw(_ der: [UInt8]) throws -> [UInt8] {
        guard der.count > 8, der[0] == 0x30, der[2] == 0x02 else { throw NotDER() }
        let rEnd = 4 + Int(der[3])
        guard der.count > rEnd + 2, der[rEnd] == 0x02 else { throw NotDER() }
        return fixed(Array(der[4..<rEnd])) + fixed(Array(der[(rEnd + 2)...]))
    }

    private static func fixed(_ integer: [UInt8]) -> [UInt8] {
        let digits = integer.drop { $0 == 0 }
        return [UInt8](repeating: 0, count: max(0, 32 - digits.count)) + digits
    }
}
