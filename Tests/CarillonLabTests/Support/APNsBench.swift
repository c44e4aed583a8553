import CarillonLab

/// A lab whose clock stands still, and the arguments that make curl send it a good alert.
struct APNsBench {
    static let now: Int64 = 1_800_000_000
    static let token = String(repeating: "ab", count: 32)
    static let alert = #"{"aps":{"alert":"hello"}}"#

    let lab: Lab
    let jwt: String

    init(_ change: (inout LabConfiguration) -> Void = { _ in }) async throws {
        var configuration = LabConfiguration()
        configuration.now = { Self.now * 1_000 }
        change(&configuration)
        lab = try await Lab.start(configuration)
        jwt = try await ProviderJWT.make(lab.credentials, issuedAt: Self.now)
    }

    /// curl's arguments for a request that passes every check, but for what is changed; nil leaves a header out.
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
        return ["--http2", "--cacert", lab.caFile, "--data-binary", body, (url ?? lab.apnsURL) + path] + more
            + fields.flatMap { ["-H", $0] }
    }

    func send(_ requests: [String]...) async throws -> [Curl.Answer] {
        try await Curl.run(requests)
    }

    /// The frames that nghttp saw, for a request that passes every check.
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
