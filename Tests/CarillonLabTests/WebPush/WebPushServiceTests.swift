import CarillonLab
import Foundation
import Testing

struct WebPushServiceTests {
    @Test func validMessageIsAcceptedAndDecrypted() async throws {
        let bench = try await WebPushBench()
        let answer = try await bench.send(headers: ["Urgency": "high", "Topic": "likes_1-2"])
        #expect(answer.status == 201)
        #expect(answer.headers["location"]?.hasPrefix(bench.url + "/message/") == true)
        #expect(answer.headers["ttl"] == "60")
        let request = try await bench.lab.next()
        #expect(request.service == .webPush)
        #expect(request.target == WebPushBench.id)
        #expect(request.decrypted.map { String(decoding: $0, as: UTF8.self) } == WebPushBench.message)
        #expect(request.detail == nil)
        await bench.lab.shutdown()
    }

    @Test func undecryptableMessageIsAcceptedAndRecorded() async throws {
        let bench = try await WebPushBench()
        var tampered = try WebPushBench.encrypted()
        tampered[tampered.count - 1] ^= 1
        #expect(try await bench.send(body: tampered).status == 201)
        #expect(try await bench.lab.next().detail?.hasPrefix("the browser cannot read it") == true)
        await bench.lab.shutdown()
    }

    @Test func keepsNoMessageLongerThanThirtyDays() async throws {
        let bench = try await WebPushBench()
        #expect(try await bench.send(headers: ["TTL": "99999999"]).headers["ttl"] == "2592000")
        await bench.lab.shutdown()
    }

    /// Header, value, status, Apple's reason.
    @Test(
        arguments: [
            ("TTL", nil, 400, "BadTtl"), ("TTL", "0", 400, "BadTtl"), ("TTL", "-1", 400, "BadTtl"),
            ("TTL", "1.5", 400, "BadTtl"), ("TTL", "99999999999999999999", 400, "BadTtl"),
            ("Urgency", "urgent", 400, "BadUrgency"), ("Topic", "a b", 400, "BadWebPushTopic"),
            ("Topic", String(repeating: "a", count: 33), 400, "BadWebPushTopic"),
            ("Content-Encoding", nil, 400, "BadWebPushRequest"),
            ("Content-Encoding", "aesgcm", 400, "BadWebPushRequest"),
            ("Crypto-Key", "dh=BP4z", 400, "BadWebPushRequest"), ("Encryption", "salt=DGv6", 400, "BadWebPushRequest"),
            ("Authorization", nil, 403, "BadAuthorizationHeader"),
            ("Authorization", "vapid", 403, "BadAuthorizationHeader"),
            ("Authorization", "bearer abc", 403, "BadAuthorizationHeader"),
            ("Authorization", "vapid t=a.b.c", 403, "BadAuthorizationHeader"),
            ("Authorization", "vapid t=a.b.c,k=AAAA", 403, "BadVapidPublicKey"),
        ] as [(String, String?, Int, String)]
    )
    func headersAreJudgedAsAppleDoes(_ name: String, _ value: String?, _ status: Int, _ reason: String) async throws {
        let bench = try await WebPushBench()
        let answer = try await bench.send(headers: [name: value])
        #expect(answer.status == status)
        #expect(answer.reason == reason)
        let request = try await bench.lab.next()
        #expect(request.reason == reason)
        #expect(request.detail != nil)
        await bench.lab.shutdown()
    }

    @Test func bodiesEndAt4096Bytes() async throws {
        let bench = try await WebPushBench()
        #expect(try await bench.send(body: [UInt8](repeating: 1, count: 4096)).status == 201)
        let answer = try await bench.send(body: [UInt8](repeating: 1, count: 4097))
        #expect(answer.status == 413)
        #expect(answer.reason == "PayloadTooLarge")
        #expect(try await bench.send(headers: ["Content-Encoding": nil], body: []).status == 201)
        await bench.lab.shutdown()
    }

    @Test func onlyExistingSubscriptionsAcceptMessages() async throws {
        let bench = try await WebPushBench()
        #expect(try await bench.send(more: ["-X", "PUT"]).status == 405)
        #expect(try await bench.send(path: "/elsewhere").reason == "BadPath")
        let unknown = try await bench.send(path: "/push/unknown")
        #expect(unknown.status == 404)
        #expect(unknown.reason == nil)
        #expect(bench.lab.expire(subscription: WebPushBench.id))
        #expect(!bench.lab.expire(subscription: WebPushBench.id))
        #expect(try await bench.send().status == 410)
        try bench.lab.declare(WebPushBench.subscription(applicationServerKey: nil))
        #expect(try await bench.send().status == 201)
        await bench.lab.shutdown()
    }

    @Test func misbehaviourUsesApplesReasons() async throws {
        let bench = try await WebPushBench {
            $0.misbehaviours = [
                ScriptedBehavior(.tooManyRequests(retryAfter: 3), service: .webPush),
                ScriptedBehavior(.answer(status: 403, reason: "BadJwtToken"), target: WebPushBench.id),
                ScriptedBehavior(.answer(status: 410)), ScriptedBehavior(.html(status: 502)),
                ScriptedBehavior(.answer(status: 202)),
            ]
        }
        let first = try await bench.send()
        #expect(first.status == 429)
        #expect(first.reason == "TooManyRequests")
        #expect(first.headers["retry-after"] == "3")
        #expect(try await bench.send().reason == "BadJwtToken")
        #expect(try await bench.send().reason == "ExpiredToken")
        #expect(try await bench.send().body.contains("<html>"))
        #expect(try await bench.send().status == 202)
        #expect(try await bench.send().status == 201)
        await bench.lab.shutdown()
    }

    @Test func newSubscriptionsAreTheOperatorsAndHaveKeysOfTheirOwn() async throws {
        let bench = try await WebPushBench()
        let first = try bench.lab.subscribe()
        let second = try bench.lab.subscribe()
        #expect(first.applicationServerKey == bench.vapid.applicationServerKey)
        #expect(first.receiver != second.receiver)
        let endpoint = try #require(bench.lab.endpoint(of: first))
        #expect(endpoint == bench.url + "/push/" + first.receiver.topic)
        let path = String(endpoint.dropFirst(bench.url.count))
        #expect(try await bench.send(path: path, headers: ["Content-Encoding": nil], body: []).status == 201)
        await bench.lab.shutdown()
    }
}

struct NamesTests {
    @Test func serversHaveTheNamesTheyAreGivenInTheirCertificate() async throws {
        var configuration = LabConfiguration()
        configuration.names = ["push.example.net"]
        let lab = try await Lab.start(configuration)
        let port = try #require(lab.webPushURL?.split(separator: ":").last)
        let answer = try await Curl.run(
            "--cacert",
            lab.addresses.caFile,
            "--connect-to",
            "push.example.net:443:127.0.0.1:\(port)",
            "-X",
            "POST",
            "https://push.example.net/push/unknown"
        )
        await lab.shutdown()
        #expect(answer.status == 404)
    }
}
