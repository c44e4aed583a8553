import CarillonLab
import Testing

struct APNsRefusalTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var status: Int
        var reason: String
        var path = "/3/device/" + APNsBench.token
        var headers: [String: String?] = [:]
        var more: [String] = []
        var body = APNsBench.alert

        var testDescription: String { "\(status) \(reason) \(headers) \(path.suffix(12))" }
    }

    static let gone = String(repeating: "01", count: 32)
    static let expired = String(repeating: "02", count: 32)
    static let bad = String(repeating: "03", count: 32)
    static let foreign = String(repeating: "04", count: 32)

    static let cases = [
        Case(status: 400, reason: "BadMessageId", headers: ["apns-id": "5A0C5A5E-0000-4000-8000-000000000000"]),
        Case(status: 400, reason: "BadMessageId", headers: ["apns-id": "5a0c5a5e00004000-8000-000000000000"]),
        Case(status: 405, reason: "MethodNotAllowed", more: ["-X", "PUT"]),
        Case(status: 400, reason: "MissingTopic", headers: ["apns-topic": nil]),
        Case(status: 400, reason: "BadTopic", headers: ["apns-topic": "com.example/app"]),
        Case(status: 400, reason: "BadTopic", headers: ["apns-push-type": "voip"]),
        Case(status: 400, reason: "TopicDisallowed", headers: ["apns-topic": "com.example.other"]),
        Case(
            status: 400,
            reason: "BadCollapseId",
            headers: ["apns-collapse-id": String(repeating: "é", count: 33)]
        ),
        Case(status: 400, reason: "BadExpirationDate", headers: ["apns-expiration": "tomorrow"]),
        Case(status: 400, reason: "BadPriority", headers: ["apns-priority": "7"]),
        Case(
            status: 400,
            reason: "BadPriority",
            headers: ["apns-push-type": "background", "apns-priority": "10"],
            body: #"{"aps":{"content-available":1}}"#
        ),
        Case(
            status: 400,
            reason: "BadPriority",
            headers: ["apns-push-type": "background"],
            body: #"{"aps":{"content-available":1}}"#
        ),
        Case(status: 400, reason: "InvalidPushType", headers: ["apns-push-type": "shout"]),
        Case(status: 400, reason: "InvalidPushType", body: #"{"aps":{"content-available":1}}"#),
        Case(
            status: 400,
            reason: "InvalidPushType",
            headers: ["apns-push-type": "background", "apns-priority": "5"],
            body: #"{"aps":{"content-available":1,"badge":1}}"#
        ),
        Case(status: 400, reason: "DuplicateHeaders", more: ["-H", "apns-topic: com.example.app"]),
        Case(status: 404, reason: "BadPath", path: "/2/device/" + APNsBench.token),
        Case(status: 404, reason: "BadPath", path: "/3/device/\(APNsBench.token)/more"),
        Case(status: 400, reason: "MissingDeviceToken", path: "/3/device/"),
        Case(status: 400, reason: "BadDeviceToken", path: "/3/device/xyz"),
        Case(status: 400, reason: "BadDeviceToken", path: "/3/device/" + bad),
        Case(status: 400, reason: "DeviceTokenNotForTopic", path: "/3/device/" + foreign),
        Case(status: 410, reason: "Unregistered", path: "/3/device/" + gone),
        Case(status: 410, reason: "ExpiredToken", path: "/3/device/" + expired),
        Case(status: 403, reason: "MissingProviderToken", headers: ["authorization": nil]),
        Case(status: 403, reason: "InvalidProviderToken", headers: ["authorization": "bearer a.b.c"]),
        Case(status: 403, reason: "InvalidProviderToken", headers: ["authorization": "basic YTpi"]),
        Case(status: 400, reason: "PayloadEmpty", body: ""),
        Case(status: 400, reason: "PayloadEmpty", body: "[]"),
        Case(status: 400, reason: "PayloadEmpty", body: #"{"alert":"no aps"}"#),
        Case(status: 400, reason: "PayloadEmpty", body: #"{"aps":"#),
        Case(
            status: 413,
            reason: "PayloadTooLarge",
            body: #"{"aps":{"alert":"\#(String(repeating: "x", count: 4_077))"}}"#
        ),
    ]

    @Test(arguments: cases)
    func wrongRequestsAreRefusedInApplesWords(_ wrong: Case) async throws {
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
        #expect(answer.status == wrong.status)
        #expect(answer.reason == wrong.reason)
        #expect(answer.headers["apns-id"]?.count == 36)
        #expect((answer.json["timestamp"] as? Int64 != nil) == (wrong.status == 410))
        let recorded = try await bench.lab.next()
        #expect(recorded.status == wrong.status)
        #expect(recorded.reason == wrong.reason)
        #expect(recorded.detail?.isEmpty == false)
        await bench.lab.shutdown()
    }

    @Test func aDeadTokenTellsSinceWhen() async throws {
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
