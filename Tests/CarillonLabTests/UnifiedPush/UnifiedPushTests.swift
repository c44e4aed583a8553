import CarillonLab
import Foundation
import Testing

struct UnifiedPushTests {
    private let topic = "upABCDEFGHIJKL"

    private func endpoint(_ lab: Lab) throws -> String {
        try #require(lab.unifiedPushURL) + "/" + topic
    }

    @Test func endpointAnswersDiscovery() async throws {
        let lab = try await Lab.atRest()
        let answer = try await Curl.run(try endpoint(lab) + "?up=1")
        #expect(answer.status == 200)
        #expect(answer.body == #"{"unifiedpush":{"version":1}}"# + "\n")
        #expect(lab.received.isEmpty)
        await lab.shutdown()
    }

    @Test func responsesMatchNtfy() async throws {
        let lab = try await Lab.atRest()
        let answer = try await Curl.run(try endpoint(lab) + "?up=1", "--data-binary", " hello ", "-H", "TTL: 60")
        #expect(answer.status == 200)
        #expect((answer.json["id"] as? String)?.count == 12)
        #expect(answer.json["event"] as? String == "message")
        #expect(answer.json["topic"] as? String == topic)
        #expect(answer.json["message"] as? String == " hello ")
        #expect(answer.json["time"] as? Int == 1_800_000_000)
        #expect(answer.json["encoding"] == nil)
        let request = try await lab.next()
        #expect(request.service == .unifiedPush)
        #expect(request.target == topic)
        #expect(request.body == Array(" hello ".utf8))
        #expect(request.header("TTL") == "60")
        await lab.shutdown()
    }

    @Test func bytesThatAreNoTextComeBackAsBase64() async throws {
        let lab = try await Lab.atRest()
        let answer = try await Curl.run(
            try endpoint(lab),
            "-H",
            "Content-Encoding: aes128gcm",
            "--data-binary",
            "@-",
            input: [0xff, 0x00, 0x01]
        )
        #expect(answer.json["message"] as? String == "/wAB")
        #expect(answer.json["encoding"] as? String == "base64")
        await lab.shutdown()
    }

    @Test func messagesEndAt4096Bytes() async throws {
        let full = [UInt8](repeating: 0x61, count: 4_096)
        let strict = try await Lab.atRest()
        let url = try endpoint(strict) + "?up=1"
        #expect(try await Curl.run(url, "--data-binary", "@-", input: full).status == 200)
        let refused = try await Curl.run(url, "--data-binary", "@-", input: full + [0x61])
        #expect(refused.status == 413)
        #expect(refused.json["http"] as? Int == 413)
        await strict.shutdown()

        let lenient = try await Lab.atRest { $0.unifiedPush?.oversize = .cut }
        let cut = try await Curl.run(try endpoint(lenient) + "?up=1", "--data-binary", "@-", input: full + [0x61])
        #expect(cut.status == 200)
        #expect((cut.json["message"] as? String)?.count == 4_096)
        #expect(lenient.received.map { $0.body.count } == [4_097])
        #expect(lenient.received.first?.detail?.contains("4097") == true)
        await lenient.shutdown()
    }

    @Test(arguments: [
        ("/", 400, 40017), ("/a/b", 404, 40401), ("/" + String(repeating: "a", count: 65), 404, 40401),
        ("/settings", 400, 40010),
    ])
    func invalidTopicPathsAreRefused(_ path: String, _ status: Int, _ code: Int) async throws {
        let lab = try await Lab.atRest()
        let answer = try await Curl.run(try #require(lab.unifiedPushURL) + path, "-d", "x")
        #expect(answer.status == status)
        #expect(answer.json["code"] as? Int == code)
        #expect(lab.received.map(\.status) == [status])
        await lab.shutdown()
    }

    @Test func misbehaviourUsesNtfysErrors() async throws {
        let lab = try await Lab.atRest {
            $0.misbehaviours = [
                ScriptedBehavior(.tooManyRequests(retryAfter: 3)), ScriptedBehavior(.answer(status: 507)),
                ScriptedBehavior(.answer(status: 404)), ScriptedBehavior(.html(status: 502)),
                ScriptedBehavior(.answer(status: 201)),
                ScriptedBehavior(.goAway(gracefully: true)), ScriptedBehavior(.close), ScriptedBehavior(.cut),
            ]
        }
        let url = try endpoint(lab) + "?up=1"
        let answers = try await Curl.run(Array(repeating: [url, "-d", "x"], count: 6))
        #expect(answers.map(\.status) == [429, 507, 404, 502, 201, 200])
        #expect(answers.map { $0.json["code"] as? Int } == [42901, 50701, 40401, nil, nil, nil])
        #expect(answers[0].headers["retry-after"] == "3")
        #expect(answers[3].body.contains("<html>"))
        #expect(answers[5].headers["connection"] == "close")
        // 52: the server sent nothing.
        #expect(try await Curl.run(url, "-d", "x").exit == 52)
        // 18: the body ended early.
        #expect(try await Curl.run(url, "-d", "x").exit == 18)
        #expect(try await Curl.run(url, "-d", "x").status == 200)
        await lab.shutdown()
    }

    @Test func appMayAcceptOnlyItsOwnServersMessages() async throws {
        let vapid = VAPIDCredentials()
        let lab = try await Lab.atRest {
            $0.unifiedPush?.receivers = [
                WebPushReceiver(topic: topic, applicationServerKey: vapid.applicationServerKey)
            ]
        }
        let url = try #require(lab.unifiedPushURL)
        func authorization(_ key: VAPIDCredentials, aud: String) async throws -> String {
            let claims = #"{"aud":"\#(aud)","exp":1800000060}"#
            let token = try await ProviderJWT.sign(header: #"{"alg":"ES256"}"#, claims: claims, keyPEM: key.keyPEM)
            return "Authorization: vapid t=\(token),k=\(key.applicationServerKey)"
        }
        let table: [(String, Int)] = [
            ("X-None: 1", 401), (try await authorization(vapid, aud: url), 200),
            (try await authorization(VAPIDCredentials(), aud: url), 403),
            (try await authorization(vapid, aud: "https://elsewhere.example"), 403),
            ("Authorization: vapid t=a,k=b", 403),
        ]
        let endpoint = try endpoint(lab)
        let answers = try await Curl.run(
            table.map { [endpoint, "-d", "x", "-H", "Content-Encoding: aes128gcm", "-H", $0.0] }
        )
        #expect(answers.map(\.status) == table.map(\.1))
        await lab.shutdown()
    }

    @Test func itCanSpeakTLS() async throws {
        let lab = try await Lab.atRest { $0.unifiedPush?.usesTLS = true }
        let url = try endpoint(lab)
        #expect(url.hasPrefix("https://"))
        let answer = try await Curl.run(url + "?up=1", "--cacert", lab.addresses.caFile, "-d", "x")
        #expect(answer.status == 200)
        await lab.shutdown()
    }
}
