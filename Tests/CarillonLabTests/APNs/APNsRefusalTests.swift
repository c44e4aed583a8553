import CarillonLab
import Testing

struct APNsRefusalTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let reason: String
        let path: String
        let headers: [String: String?]
        let more: [String]
        let body: String

        init(
            _ status: Int,
            _ reason: String,
            path: String = "/3/device/" + APNsBench.token,
            headers: [String: String?] = [:],
            more: [String] = [],
            body: String = APNsBench.alert
        ) {
            (self.status, self.reason, self.path) = (status, reason, path)
            (self.headers, self.more, self.body) = (headers, more, body)
        }

        var testDescription: String { "\(status) \(reason) \(headers) \(path.suffix(12))" }
    }

    static let gone = String(repeating: "01", count: 32)
    static let expired = String(repeating: "02", count: 32)
    static let bad = String(repeating: "03", count: 32)
    static let foreign = String(repeating: "04", count: 32)

    /// `aps` of pushes with values of a wrong type.
    static let malformed = [
        #"{"alert":7}"#, #"{"alert":"x","badge":"1"}"#, #"{"alert":"x","badge":true}"#, #"{"sound":{"critical":1}}"#,
        #"{"sound":{"name":"n","volume":2}}"#, #"{"sound":{"name":"n","critical":true}}"#,
        #"{"alert":"x","thread-id":1}"#, #"{"alert":"x","interruption-level":"loud"}"#,
        #"{"alert":"x","content-available":true}"#, #"{"alert":"x","mutable-content":2}"#,
        #"{"alert":{"title":1}}"#, #"{"alert":{"loc-args":"x"}}"#, #"{"alert":{"loc-args":[1]}}"#,
    ].map { Case(400, "PayloadEmpty", body: #"{"aps":\#($0)}"#) }

    /// `aps` of Live Activities that Apple would drop.
    static let brokenActivities = [
        #"{"event":"update","content-state":{}}"#, #"{"timestamp":1,"content-state":{}}"#,
        #"{"event":"update","timestamp":1}"#, #"{"event":"update","timestamp":1,"content-state":{},"sound":"x"}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"attributes":{}}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"dismissal-date":2}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"alert":"x"}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"alert":{}}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"alert":{"title":"t","loc-key":"K"}}"#,
        #"{"event":"update","timestamp":1,"content-state":{},"alert":{"title":{}}}"#,
        #"{"event":"start","timestamp":1,"content-state":{},"attributes-type":"A","attributes":{}}"#,
        #"{"event":"start","timestamp":1,"content-state":{},"alert":{"title":"t"},"attributes":{}}"#,
        #"{"event":"start","timestamp":1,"content-state":{},"alert":{"title":"t"},"attributes-type":"A"}"#,
    ].map { activity($0, reason: "InvalidPushType") }

    static let malformedActivities = [
        #"{"event":"events","timestamp":1,"content-state":{}}"#,
        #"{"event":"update","timestamp":"1","content-state":{}}"#,
        #"{"event":"update","timestamp":1,"content-state":[]}"#,
    ].map { activity($0, reason: "PayloadEmpty") }

    static let cases =
        plain + malformed + brokenActivities + malformedActivities + [
            activity(#"{"event":"end","timestamp":1}"#, reason: "BadPriority", priority: "1"),
            activity(#"{"event":"end","timestamp":1}"#, reason: "BadTopic", topic: nil),
            Case(
                413,
                "PayloadTooLarge",
                headers: ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"],
                body: #"{"aps":{},"pad":"\#(String(repeating: "x", count: 5_102))"}"#
            ),
        ]

    private static func activity(
        _ aps: String,
        reason: String,
        priority: String = "5",
        topic: String? = "com.example.app.push-type.liveactivity"
    ) -> Case {
        Case(
            400,
            reason,
            headers: [
                "apns-push-type": "liveactivity", "apns-priority": priority, "apns-topic": topic ?? "com.example.app",
            ],
            body: #"{"aps":\#(aps)}"#
        )
    }

    private static func background(
        _ reason: String,
        priority: String? = "5",
        aps: String = #"{"content-available":1}"#
    ) -> Case {
        let headers = ["apns-push-type": "background", "apns-priority": priority]
        return Case(400, reason, headers: headers, body: #"{"aps":\#(aps)}"#)
    }

    private static let plain = [
        Case(400, "BadMessageId", headers: ["apns-id": "5A0C5A5E-0000-4000-8000-000000000000"]),
        Case(400, "BadMessageId", headers: ["apns-id": "5a0c5a5e00004000-8000-000000000000"]),
        Case(405, "MethodNotAllowed", more: ["-X", "PUT"]),
        Case(400, "MissingTopic", headers: ["apns-topic": nil]),
        Case(400, "BadTopic", headers: ["apns-topic": "com.example/app"]),
        Case(400, "BadTopic", headers: ["apns-push-type": "voip"]),
        Case(400, "TopicDisallowed", headers: ["apns-topic": "com.example.other"]),
        Case(400, "BadCollapseId", headers: ["apns-collapse-id": String(repeating: "é", count: 33)]),
        Case(400, "BadExpirationDate", headers: ["apns-expiration": "tomorrow"]),
        Case(400, "BadPriority", headers: ["apns-priority": "7"]),
        background("BadPriority", priority: "10"),
        background("BadPriority", priority: nil),
        Case(400, "InvalidPushType", headers: ["apns-push-type": "shout"]),
        Case(400, "InvalidPushType", body: #"{"aps":{"content-available":1}}"#),
        background("InvalidPushType", aps: #"{"content-available":1,"badge":1}"#),
        background("BadPriority", priority: "1"),
        background("InvalidPushType", aps: #"{"content-available":1,"mutable-content":1}"#),
        Case(400, "InvalidPushType", body: #"{"aps":{"alert":"x","content-state":{}}}"#),
        Case(400, "InvalidPushType", body: #"{"aps":{"badge":1,"mutable-content":1}}"#),
        Case(400, "InvalidPushType", body: #"{"aps":{"alert":"x","relevance-score":2}}"#),
        Case(400, "DuplicateHeaders", more: ["-H", "apns-topic: com.example.app"]),
        Case(404, "BadPath", path: "/2/device/" + APNsBench.token),
        Case(404, "BadPath", path: "/3/device/\(APNsBench.token)/more"),
        Case(400, "MissingDeviceToken", path: "/3/device/"),
        Case(400, "BadDeviceToken", path: "/3/device/xyz"),
        Case(400, "BadDeviceToken", path: "/3/device/" + bad),
        Case(400, "DeviceTokenNotForTopic", path: "/3/device/" + foreign),
        Case(410, "Unregistered", path: "/3/device/" + gone),
        Case(410, "ExpiredToken", path: "/3/device/" + expired),
        Case(403, "MissingProviderToken", headers: ["authorization": nil]),
        Case(403, "InvalidProviderToken", headers: ["authorization": "bearer a.b.c"]),
        Case(403, "InvalidProviderToken", headers: ["authorization": "basic YTpi"]),
        Case(400, "PayloadEmpty", body: ""),
        Case(400, "PayloadEmpty", body: "[]"),
        Case(400, "PayloadEmpty", body: #"{"alert":"no aps"}"#),
        Case(400, "PayloadEmpty", body: #"{"aps":"#),
        Case(413, "PayloadTooLarge", body: #"{"aps":{"alert":"\#(String(repeating: "x", count: 4_077))"}}"#),
    ]

    @Test(arguments: cases)
    func invalidRequestsGetApplesReasons(_ wrong: Case) async throws {
        let bench = try await APNsBench { configuration in
            configuration.apns.devices = [
                APNsDevice(token: Self.gone, state: .unregistered(since: 1_754_000_000_123)),
                APNsDevice(token: Self.expired, state: .expired(since: 1_754_000_000_456)),
                APNsDevice(token: Self.bad, state: .bad),
                APNsDevice(token: Self.foreign, topics: ["com.example.other"]),
            ]
        }
        let answer = try await bench.send(
            bench.request(path: wrong.path, headers: wrong.headers, more: wrong.more, body: wrong.body)
        )[0]
        #expect(answer.status == wrong.status && answer.reason == wrong.reason)
        #expect(answer.headers["apns-id"]?.count == 36)
        #expect((answer.json["timestamp"] as? Int64 != nil) == (wrong.status == 410))
        let recorded = try await bench.lab.next()
        #expect(recorded.status == wrong.status && recorded.reason == wrong.reason)
        #expect(recorded.detail?.isEmpty == false)
        await bench.lab.shutdown()
    }

    @Test func deadTokenHasATimestamp() async throws {
        let bench = try await APNsBench()
        bench.lab.declare(APNsDevice(token: Self.gone.uppercased(), state: .unregistered(since: 1_754_000_000_123)))
        let answer = try await bench.send(bench.request(path: "/3/device/" + Self.gone))[0]
        #expect(answer.body == #"{"reason":"Unregistered","timestamp":1754000000123}"#)
        await bench.lab.shutdown()
    }

    @Test func undeclaredTokensCanBeRefused() async throws {
        let bench = try await APNsBench { $0.apns.acceptsUndeclaredDevices = false }
        bench.lab.declare(APNsDevice(token: Self.foreign))
        let answers = try await bench.send(bench.request(), bench.request(path: "/3/device/" + Self.foreign))
        #expect(answers.map(\.reason) == ["BadDeviceToken", nil])
        #expect(answers.map(\.status) == [400, 200])
        await bench.lab.shutdown()
    }
}
