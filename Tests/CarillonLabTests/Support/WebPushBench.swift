import CarillonLab
import Foundation
import Testing

/// A lab whose clock stands still, a subscription to the operator's messages, and curl's arguments for a valid one.
///
/// The keys and the message are those of RFC 8291's example.
struct WebPushBench {
    static let id = "rfc8291"
    static let message = "When I grow up, I want to be a watermelon"

    private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    private static let body = """
        DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl\
        7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
        """

    let lab: Lab
    let vapid: VAPIDCredentials
    let url: String

    init(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws {
        lab = try await Lab.atRest(change)
        vapid = try #require(lab.vapid)
        url = try #require(lab.webPushURL)
        try lab.declare(Self.subscription(applicationServerKey: vapid.applicationServerKey))
    }

    static func bytes(_ text: String) throws -> [UInt8] {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: standard + padding)))
    }

    static func encrypted() throws -> [UInt8] { try bytes(body) }

    static func receiver(_ topic: String) throws -> WebPushReceiver {
        WebPushReceiver(topic: topic, privateKey: try bytes(privateKey), auth: try bytes(auth))
    }

    static func subscription(applicationServerKey: String?) throws -> WebPushSubscription {
        WebPushSubscription(receiver: try receiver(id), applicationServerKey: applicationServerKey)
    }

    /// Returns the value of `Authorization`. Default: for the operator's key.
    func authorization(
        header: String = #"{"typ":"JWT","alg":"ES256"}"#,
        claims: String? = nil,
        key: VAPIDCredentials? = nil
    ) async throws -> String {
        let claims = claims ?? #"{"aud":"\#(url)","exp":\#(APNsBench.now + 43_200),"sub":"mailto:ops@example.com"}"#
        let key = key ?? vapid
        let token = try await ProviderJWT.sign(header: header, claims: claims, keyPEM: key.keyPEM)
        return "vapid t=\(token), k=\(key.applicationServerKey)"
    }

    /// Sends a valid message with these changes; nil removes a header.
    func send(
        path: String = "/push/" + id,
        authorization: String?? = nil,
        headers: [String: String?] = [:],
        more: [String] = [],
        body: [UInt8]? = nil
    ) async throws -> Curl.Answer {
        var all: [String: String?] = ["TTL": "60", "Content-Encoding": "aes128gcm"]
        all["Authorization"] =
            switch authorization {
            case .none: try await self.authorization()
            case .some(let given): given
            }
        all.merge(headers) { $1 }
        let fields = all.compactMap { name, value in value.map { ["-H", "\(name): \($0)"] } }.flatMap { $0 }
        let request = ["--cacert", lab.addresses.caFile, "--data-binary", "@-", url + path] + more + fields
        return try await Curl.run([request], input: try body ?? Self.encrypted())[0]
    }
}
