import CarillonABI
import CarillonLab
import HMSTransport
import PluginKit
import PluginTestSupport
import Testing

/// Our plugin's requests, carried to the lab by the curl command.
struct HMSTransportInTheLabTests {
    private static let token = "IQAAAACy0-lab-" + String(repeating: "Ab1-_", count: 20)

    private let lab: Lab
    private let host = FakeHost()
    private let transport: HMSTransport

    init() async throws {
        var configuration = LabConfiguration()
        configuration.hms = LabConfiguration.HMS()
        configuration.controlPort = 0
        lab = try await Lab.start(configuration)
        let hms = try #require(lab.hms)
        let block = """
            {"app_id":"\(hms.appID)","client_secret":"\(hms.clientSecret)","token_url":"\(hms.tokenURL)",
            "origin":"\(hms.url)"}
            """
        transport = try HMSTransport(configuration: JSONObject(parsing: block), host: Host(host.pointer))
    }

    /// What became of a notification once the lab has answered all that the plugin asked of it.
    private func outcome(of sample: SampleNotification, token: String = token) async throws -> RecordedOutcome {
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
            [["--cacert", lab.caFile, request.url, "--data-binary", "@-"] + headers],
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
        whole.collapseKey = "key of more than one word"
        whole.url = "https://example.com"
        whole.actions = [.init(id: "a", label: "A", url: "https://e.com", icon: "i"), .init(id: "b", label: "\"B\"")]
        whole.data = #"{"deep":{"a":[1,null]},"null":null,"kind":7}"#
        var drawn = whole
        drawn.native = """
            {"style":"notification","category":"IM","ttl":"60s","collapse_key":7,"notification":{"title_loc_key":"LIKED",
            "title_loc_args":["a"],"channel_id":"c","color":"#102030","importance":"NORMAL","badge":{"add_num":1}}}
            """
        let sealed = #"{"v":1,"alg":"nip44","from":"ab","ct":"\#(String(repeating: "A", count: 3_700))"}"#
        return [
            .wake("dm"), .wake("dm", count: 12), .nudge("dm", title: "New notification", body: "b"),
            .envelope(sealed, title: "New notification"), whole, drawn,
        ]
    }

    @Test func theLabTakesWhateverThePluginSays() async throws {
        for sample in Self.samples {
            let outcome = try await outcome(of: sample)
            #expect(outcome.kind == .CARILLON_DELIVERED, "\(lab.received.last?.detail ?? "")")
        }
        #expect(lab.received.filter { $0.service == .hmsOAuth }.map(\.status) == [200])
        #expect(lab.received.filter { $0.service == .hms }.map(\.target).allSatisfy { $0 == Self.token })
        await lab.shutdown()
    }

    @Test func thePluginUnderstandsWhateverTheLabSays() async throws {
        let good = SampleNotification.wake("dm")
        #expect(try await outcome(of: good).kind == .CARILLON_DELIVERED)
        lab.declare(HMSDevice(token: Self.token, state: .forbidden))
        #expect(try await outcome(of: good).reason == "forbidden")
        lab.declare(HMSDevice(token: Self.token, application: "7"))
        #expect(try await outcome(of: good).kind == .CARILLON_GONE)
        let control = try #require(lab.controlURL)
        let declared = #"{"service":"hms","token":"\#(Self.token)","state":"registered"}"#
        #expect(try await Curl.run(control + "/tokens", "-d", declared).status == 200)
        lab.revokeAccessTokens()
        #expect(try await outcome(of: good).kind == .CARILLON_DELIVERED)
        lab.misbehave(
            Misbehaviour(.answer(status: 503, retryAfter: 9), service: .hms),
            Misbehaviour(.answer(status: 400, reason: "80300008"), service: .hms),
            Misbehaviour(.answer(status: 500), service: .hms)
        )
        #expect(try await outcome(of: good).retryAfter == 9_000)
        #expect(try await outcome(of: good).reason == "payload-too-large")
        #expect(try await outcome(of: good).reason == "internal")
        lab.revokeAccessTokens()
        lab.misbehave(Misbehaviour(.answer(status: 403), service: .hmsOAuth))
        #expect(try await outcome(of: good).kind == .CARILLON_MISCONFIGURED)
        await lab.shutdown()
    }

    @Test func theLabIsAsStrictAsHuawei() async throws {
        let hms = try #require(lab.hms)
        let form = "grant_type=client_credentials&client_id=\(hms.appID)&client_secret="
        let base = ["--cacert", lab.caFile]
        let refused = try await Curl.run([base + [hms.tokenURL, "-d", form + "wrong"]])[0]
        #expect(refused.status == 403 && refused.json["error"] as? Int == 1_101)
        let granted = try await Curl.run([
            base + [
                hms.tokenURL, "-d", form, "--data-urlencode", "x=", "-d", "client_secret=lab-secret%26of%3Dhuawei%27s",
            ]
        ])[0]
        let access = try #require(granted.json["access_token"] as? String)
        let url = "\(hms.url)/v1/\(hms.appID)/messages:send"
        let send = { (message: String) in
            base + [
                url, "-H", "authorization: Bearer \(access)", "-H", "content-type: application/json", "-d",
                #"{"message":{\#(message)}}"#,
            ]
        }
        let token = #""token":["\#(Self.token)"]"#
        let answers = try await Curl.run([
            send(#""data":"x",\#(token)"#), send(#""data":{},\#(token)"#), send(#""data":"x""#),
            send(#""data":"x","token":["short"]"#), send(#""data":"x","android":{"collapse_key":101},\#(token)"#),
            send(#""android":{"notification":{"title":"t"}},\#(token)"#), send(#""colour":"x",\#(token)"#),
            send(#""data":"\#(String(repeating: "x", count: 4_100))",\#(token)"#),
            base + [url, "-H", "content-type: application/json", "-d", "{}"], base + [hms.url + "/v1/7/messages:send"],
        ])
        let codes = answers.map { $0.json["code"] as? String ?? "" }
        #expect(
            codes == [
                "80000000", "80100003", "80300010", "80300007", "80100013", "80100001", "80100003", "80300008",
                "80200001", "",
            ]
        )
        await lab.shutdown()
    }
}
