import CarillonABI
import CarillonLab
import FCMTransport
import Foundation
import PluginKit
import PluginTestSupport
import Testing

/// Our plugin's requests, sent to the lab with the curl command.
struct FCMTransportInTheLabTests {
    private let bench: FCMBench
    private let host = FakeHost()
    private let transport: FCMTransport

    init() async throws {
        // The plugin reads the machine's clock.
        bench = try await FCMBench { $0.now = { Int64(Date().timeIntervalSince1970 * 1_000) } }
        let block = #"{"service_account":"\#(bench.fcm.serviceAccountFile)","base_url":"\#(bench.fcm.url)"}"#
        transport = try FCMTransport(configuration: JSONObject(parsing: block), host: Host(host.pointer))
    }

    /// Returns the outcome of a notification once the lab has answered all requests of the plugin.
    private func outcome(of sample: SampleNotification, token: String = FCMBench.token) async throws -> RecordedOutcome
    {
        let box = TransportBox(transport, host: try Host(host.pointer))
        let ticket = UInt64(host.outcomes.count) + 1
        var asked = host.requests.count
        let status = SampleRegistration(token: token).withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
        try #require(status == .CARILLON_OK)
        while host.outcomes.count < ticket, asked < host.requests.count {
            try await carry(asked)
            asked += 1
        }
        return try #require(host.outcomes.last { $0.ticket == ticket })
    }

    private func carry(_ index: Int) async throws {
        let request = host.requests[index]
        let headers = request.headers.flatMap { ["-H", "\($0.key): \($0.value)"] }
        let answer = try await Curl.run(
            [["--http2", "--cacert", bench.lab.addresses.caFile, request.url, "--data-binary", "@-"] + headers],
            input: request.body
        )[0]
        let status = UInt32(answer.status ?? 0)
        host.answer(index, status: status, headers: answer.headers, body: answer.body, failure: "unreachable")
    }

    private static var samples: [SampleNotification] {
        var whole = SampleNotification.alert(
            title: "\"Title\" 👨‍👩‍👧‍👦",
            body: String(repeating: "Body\u{1} \\ é", count: 800)
        )
        whole.subtitle = "Subtitle"
        whole.category = "kind_7"
        whole.thread = "thread"
        whole.collapseKey = "key of more than one word"
        whole.url = "https://example.com"
        whole.actions = [.init(id: "a", label: "A", url: "https://e.com", icon: "i"), .init(id: "b", label: "\"B\"")]
        whole.data = #"{"from":"x","google.y":1,"deep":{"a":[1,null]},"null":null,"kind":7}"#
        var drawn = whole
        drawn.native = """
            {"style":"notification","priority":"NORMAL","ttl":"60s","directBootOk":true,"fcmOptions":{"analyticsLabel":"l"},
            "notification":{"titleLocKey":"LIKED","titleLocArgs":["a"],"channelId":"c","color":"#102030",
            "notificationPriority":"PRIORITY_HIGH","eventTime":"2026-02-02T02:40:00Z","vibrateTimings":["0.3s"]}}
            """
        var listed = whole
        listed.native = #"{"notification":{"titleLocKey":"LIKED","titleLocArgs":["a"],"sticky":true}}"#
        let sealed = #"{"v":1,"alg":"nip44","from":"ab","ct":"\#(String(repeating: "A", count: 3_700))"}"#
        return [
            .wake("dm"), .wake("dm", count: 12), .nudge("dm", title: "New notification", body: "b"),
            .envelope(sealed, title: "New notification"), whole, drawn, listed, .alert(title: "", body: ""),
        ]
    }

    @Test func labAcceptsEveryRequestOfThePlugin() async throws {
        for sample in Self.samples {
            let outcome = try await outcome(of: sample)
            #expect(outcome.kind == .CARILLON_DELIVERED, "\(bench.lab.received.last?.detail ?? "")")
        }
        #expect(bench.lab.received.filter { $0.service == .oauth }.map(\.status) == [200])
        #expect(bench.lab.received.filter { $0.service == .fcm }.count == Self.samples.count)
        await bench.lab.shutdown()
    }

    @Test func pluginUnderstandsEveryResponseOfTheLab() async throws {
        let good = SampleNotification.wake("dm")
        let other = "other:" + FCMBench.token
        bench.lab.declare(FCMDevice(token: other, state: .otherSender))
        #expect(try await outcome(of: good, token: other).kind == .CARILLON_RETRY)
        #expect(try await outcome(of: good).kind == .CARILLON_DELIVERED)
        #expect(try await outcome(of: good, token: other).kind == .CARILLON_GONE)
        bench.lab.declare(FCMDevice(token: FCMBench.token, state: .unregistered))
        #expect(try await outcome(of: good).reason == "unregistered")
        bench.lab.declare(FCMDevice(token: FCMBench.token, state: .invalid))
        #expect(try await outcome(of: good).reason == "invalid-token")
        bench.lab.declare(FCMDevice(token: FCMBench.token))
        bench.lab.revokeAccessTokens()
        #expect(try await outcome(of: good).kind == .CARILLON_DELIVERED)
        bench.lab.misbehave(
            ScriptedBehavior(.tooManyRequests(retryAfter: 90), service: .fcm),
            ScriptedBehavior(.answer(status: 403), service: .fcm),
            ScriptedBehavior(.html(status: 502), service: .fcm)
        )
        let slowed = try await outcome(of: good)
        #expect(slowed.kind == .CARILLON_RETRY)
        #expect(slowed.retryAfter == 90_000)
        #expect(try await outcome(of: good).kind == .CARILLON_MISCONFIGURED)
        #expect(try await outcome(of: good).kind == .CARILLON_RETRY)
        bench.lab.revokeAccessTokens()
        bench.lab.misbehave(ScriptedBehavior(.answer(status: 400), service: .oauth))
        let refused = try await outcome(of: good)
        #expect(refused.kind == .CARILLON_MISCONFIGURED)
        #expect(refused.reason == "invalid-grant")
        await bench.lab.shutdown()
    }
}
