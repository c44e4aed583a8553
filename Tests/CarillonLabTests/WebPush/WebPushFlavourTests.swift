import CarillonLab
import Testing

/// The same errors at the push services of several vendors, each of which reports them differently.
struct WebPushFlavourTests {
    /// An invalid request: a changed header, or another defect.
    enum Mistake: CaseIterable {
        case noTTL, badTTL, zeroTTL, topic, encoding, noVAPID, otherKey, expiredToken, noSubject, method, unknown, gone,
            tooLarge
    }

    private static let mozilla: [Mistake: (Int, String?)] = [
        .noTTL: (400, "111"), .badTTL: (400, "112"), .zeroTTL: (201, nil), .topic: (400, "113"),
        .encoding: (400, "110"),
        .noVAPID: (401, "109"), .otherKey: (401, "109"), .expiredToken: (401, "109"), .noSubject: (201, nil),
        .method: (405, "999"), .unknown: (404, "102"), .gone: (410, "106"), .tooLarge: (413, "104"),
    ]
    private static let apple: [Mistake: (Int, String?)] = [
        .noTTL: (400, "BadTtl"), .badTTL: (400, "BadTtl"), .zeroTTL: (400, "BadTtl"), .topic: (400, "BadWebPushTopic"),
        .encoding: (400, "BadWebPushRequest"), .noVAPID: (403, "BadAuthorizationHeader"),
        .otherKey: (400, "VapidPkHashMismatch"), .expiredToken: (403, "BadJwtToken"), .noSubject: (403, "BadJwtToken"),
        .method: (405, "MethodNotAllowed"), .unknown: (404, nil), .gone: (410, "ExpiredToken"),
        .tooLarge: (413, "PayloadTooLarge"),
    ]
    private static let wns: [Mistake: Int] = [
        .noTTL: 400, .badTTL: 400, .zeroTTL: 201, .topic: 400, .encoding: 400, .noVAPID: 401, .otherKey: 403,
        .expiredToken: 401, .noSubject: 201, .method: 405, .unknown: 404, .gone: 410, .tooLarge: 413,
    ]
    private static let fcm = wns.merging([.expiredToken: 403]) { $1 }
    private static let plain = fcm

    private func send(_ mistake: Mistake?, _ flavour: WebPushFlavour, _ bench: WebPushBench) async throws -> Curl.Answer
    {
        var subscription = try WebPushBench.subscription(applicationServerKey: bench.vapid.applicationServerKey)
        subscription.flavour = flavour
        try bench.lab.declare(subscription)
        let endpoint = try #require(bench.lab.endpoint(of: subscription))
        let path = String(endpoint.dropFirst(bench.url.count))
        func with(_ name: String, _ value: String?) async throws -> Curl.Answer {
            try await bench.send(path: path, headers: [name: value])
        }
        func claims(_ lifetime: Int64, _ subject: String) -> String {
            #"{"aud":"\#(bench.url)","exp":\#(APNsBench.now + lifetime)\#(subject)}"#
        }
        switch mistake {
        case nil: return try await bench.send(path: path)
        case .noTTL: return try await with("TTL", nil)
        case .badTTL: return try await with("TTL", "soon")
        case .zeroTTL: return try await with("TTL", "0")
        case .topic: return try await with("Topic", "a b")
        case .encoding: return try await with("Content-Encoding", nil)
        case .noVAPID: return try await with("Authorization", nil)
        case .otherKey:
            let authorization = try await bench.authorization(key: VAPIDCredentials())
            return try await bench.send(path: path, authorization: authorization)
        case .expiredToken:
            let authorization = try await bench.authorization(claims: claims(-1, #","sub":"mailto:a@example.com""#))
            return try await bench.send(path: path, authorization: authorization)
        case .noSubject:
            return try await bench.send(path: path, authorization: bench.authorization(claims: claims(60, "")))
        case .method: return try await bench.send(path: path, more: ["-X", "PUT"])
        case .unknown: return try await bench.send(path: path + "x")
        case .gone:
            bench.lab.expire(subscription: WebPushBench.id)
            return try await bench.send(path: path)
        case .tooLarge:
            let limit = flavour == .wns ? 5_000 : 4_096
            #expect(try await bench.send(path: path, body: [UInt8](repeating: 1, count: limit)).status == 201)
            return try await bench.send(path: path, body: [UInt8](repeating: 1, count: limit + 1))
        }
    }

    @Test(arguments: Mistake.allCases) func mozillaErrorsHaveNumbers(_ mistake: Mistake) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(mistake, .mozilla, bench)
        let (status, errno) = try #require(Self.mozilla[mistake])
        #expect(answer.status == status)
        #expect((answer.json["errno"] as? Int).map(String.init) == errno)
        #expect(bench.lab.received.last?.reason == errno)
        if errno != nil {
            #expect(answer.json["code"] as? Int == status)
            #expect((answer.json["message"] as? String)?.isEmpty == false)
            #expect(answer.headers["cache-control"] == (status == 410 ? "max-age=86400" : nil))
        }
        await bench.lab.shutdown()
    }

    @Test(arguments: Mistake.allCases) func appleErrorsHaveReasons(_ mistake: Mistake) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(mistake, .apple, bench)
        let (status, reason) = try #require(Self.apple[mistake])
        #expect(answer.status == status)
        #expect(answer.reason == reason)
        await bench.lab.shutdown()
    }

    @Test(arguments: Mistake.allCases) func windowsErrorsHaveHeaders(_ mistake: Mistake) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(mistake, .wns, bench)
        #expect(answer.status == Self.wns[mistake])
        if answer.status != 201 {
            #expect(answer.headers["x-wns-status"] == "dropped")
            #expect(answer.headers["x-wns-error-description"]?.isEmpty == false)
            #expect(answer.body.isEmpty)
        }
        await bench.lab.shutdown()
    }

    @Test(arguments: Mistake.allCases) func googleErrorsHaveSentences(_ mistake: Mistake) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(mistake, .fcm, bench)
        #expect(answer.status == Self.fcm[mistake])
        if answer.status != 201 {
            #expect(answer.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(answer.body.count > 5)
        }
        if mistake == .otherKey {
            #expect(answer.body.contains("do not correspond to the credentials used to create the subscriptions"))
        }
        await bench.lab.shutdown()
    }

    @Test(arguments: Mistake.allCases) func standardErrorsHaveOnlyStatuses(_ mistake: Mistake) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(mistake, .plain, bench)
        #expect(answer.status == Self.plain[mistake])
        #expect(answer.body.isEmpty)
        await bench.lab.shutdown()
    }

    @Test(arguments: WebPushFlavour.allCases) func allFlavoursAcceptMessages(_ flavour: WebPushFlavour) async throws {
        let bench = try await WebPushBench()
        let answer = try await send(nil, flavour, bench)
        #expect(answer.status == 201)
        #expect(answer.headers["location"]?.isEmpty == false)
        #expect(answer.headers["ttl"] == "60")
        #expect((answer.headers["x-wns-notificationstatus"] == "received") == (flavour == .wns))
        #expect((answer.headers["apns-id"] != nil) == (flavour == .apple))
        #expect(bench.lab.received.last?.decrypted == Array(WebPushBench.message.utf8))
        await bench.lab.shutdown()
    }

    @Test func endpointOfOneVendorIsUnknownToAnother() async throws {
        let bench = try await WebPushBench()
        var subscription = try WebPushBench.subscription(applicationServerKey: nil)
        subscription.flavour = .mozilla
        try bench.lab.declare(subscription)
        #expect(try await bench.send(path: "/fcm/send/" + WebPushBench.id).status == 404)
        #expect(try await bench.send(path: "/wpush/v2/" + WebPushBench.id).status == 201)
        await bench.lab.shutdown()
    }

    @Test func onlySomeFlavoursRequireVAPIDWithoutAKey() async throws {
        let bench = try await WebPushBench()
        for flavour in WebPushFlavour.allCases {
            var subscription = try WebPushBench.subscription(applicationServerKey: nil)
            subscription.flavour = flavour
            try bench.lab.declare(subscription)
            let path = String(try #require(bench.lab.endpoint(of: subscription)).dropFirst(bench.url.count))
            let status = try await bench.send(path: path, headers: ["Authorization": nil]).status
            #expect(status == [.mozilla: 201, .plain: 201, .apple: 403][flavour, default: 401], "\(flavour)")
        }
        await bench.lab.shutdown()
    }

    @Test func anyAnswerCanBeOrderedInTheVendorsForm() async throws {
        let bench = try await WebPushBench()
        bench.lab.misbehave(
            ScriptedBehavior(.answer(status: 503, reason: "202"), service: .webPush),
            ScriptedBehavior(.answer(status: 502), service: .webPush),
            ScriptedBehavior(.answer(status: 401, message: "VAPID public key mismatch"), service: .webPush)
        )
        let first = try await send(nil, .mozilla, bench)
        #expect(first.json["errno"] as? Int == 202)
        #expect(first.headers["retry-after"] == "120")
        #expect(try await send(nil, .mozilla, bench).json["errno"] as? Int == 901)
        #expect(try await send(nil, .mozilla, bench).json["message"] as? String == "VAPID public key mismatch")
        let dropped = LabHeader("X-WNS-NotificationStatus", "channelthrottled")
        bench.lab.misbehave(
            ScriptedBehavior(.answer(status: 406, reason: "throttled")),
            ScriptedBehavior(.answer(status: 200, headers: [dropped]))
        )
        let throttled = try await send(nil, .wns, bench)
        #expect(throttled.status == 406)
        #expect(throttled.headers["x-wns-error-description"] == "throttled")
        let taken = try await send(nil, .wns, bench)
        #expect(taken.status == 200)
        #expect(taken.headers["x-wns-notificationstatus"] == "channelthrottled")
        bench.lab.misbehave(ScriptedBehavior(.answer(status: 400, reason: "UnauthorizedRegistration")))
        #expect(try await send(nil, .fcm, bench).body == "UnauthorizedRegistration\n")
        await bench.lab.shutdown()
    }

    @Test func theServerIsKnownByItsAddressToo() async throws {
        let bench = try await WebPushBench()
        let other = bench.url.replacing("localhost", with: "127.0.0.1")
        let claims = #"{"aud":"\#(other)","exp":\#(APNsBench.now + 60),"sub":"mailto:a@example.com"}"#
        let authorization = try await bench.authorization(claims: claims)
        #expect(try await bench.send(authorization: authorization).reason == "BadJwtToken")
        let host = String(other.dropFirst("https://".count))
        let answer = try await bench.send(authorization: authorization, headers: ["Host": host])
        #expect(answer.status == 201)
        await bench.lab.shutdown()
    }

    @Test func flavoursAreOrderedThroughTheControlEndpoint() async throws {
        let bench = try await WebPushBench { $0.controlPort = 0 }
        let url = try #require(bench.lab.addresses.control) + "/subscriptions"
        let made = try await Curl.run(url, "-d", #"{"id":"alice","flavour":"wns"}"#)
        #expect(made.json["endpoint"] as? String == bench.url + "/w/?token=alice")
        #expect(try await bench.send(path: "/w/?token=alice", body: []).headers["x-wns-status"] == "received")
        let wrong = try await Curl.run(url, "-d", #"{"flavour":"vanilla"}"#)
        #expect((wrong.json["error"] as? String)?.contains("flavour is one of mozilla, apple") == true)
        await bench.lab.shutdown()
    }
}
