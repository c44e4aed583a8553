import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import Testing

@testable import WebPushTransport

struct WebPushTransportTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func request(_ sample: SampleNotification, to endpoint: String? = nil) throws -> RecordedRequest {
        let registration = endpoint.map { fixture.subscription($0) }
        #expect(try fixture.deliver(sample, to: registration) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    @Test func postsToTheEndpointAsAUsersURL() throws {
        let request = try request(.wake("dm"))
        #expect(request.method == "POST")
        #expect(request.url == TransportFixture.endpoint)
        // Mozilla is worth a connection that is kept.
        #expect(request.flags == 3)
        var headers = request.headers
        let value = headers.removeValue(forKey: "authorization")
        let authorization = try ReadAuthorization(#require(value))
        #expect(
            headers == [
                "ttl": "86400", "urgency": "normal", "content-type": "application/octet-stream",
                "content-encoding": "aes128gcm",
            ]
        )
        #expect(authorization.header == #"{"typ":"JWT","alg":"ES256"}"#)
        #expect(
            authorization.claims
                == #"{"aud":"https://updates.push.services.mozilla.com","exp":1770043200,"sub":"mailto:ops@example.com"}"#
        )
        #expect(authorization.isSigned)
        #expect(authorization.publicKey == Base64URL.encode(fixture.operatorKey.publicKey.x963Representation))
        #expect(try fixture.decrypt(request) == #"{"t":"dm"}"#)
    }

    /// As the explainer of Declarative Web Push proposes, only for messages that a browser can show without a script.
    @Test func contentTypeMarksDeclarativeMessages() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        #expect(try request(sample).headers["content-type"] == "application/octet-stream")
        sample.url = "https://example.com/1"
        #expect(try request(sample).headers["content-type"] == "application/notification+json")
        sample.mode = .CARILLON_WAKE
        #expect(try request(sample).headers["content-type"] == "application/octet-stream")
    }

    @Test(arguments: [
        ("https://push.example.com/x", "https://push.example.com"),
        ("https://Push.Example.COM:443/x", "https://push.example.com"),
        ("https://push.example.com:0443?x", "https://push.example.com"),
        ("https://push.example.com:8443/x", "https://push.example.com:8443"),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]"),
        ("https://[2001:db8::1]:444/x", "https://[2001:db8::1]:444"),
    ])
    func theTokenIsForTheEndpointsOrigin(_ endpoint: String, _ origin: String) throws {
        let request = try request(.wake("dm"), to: endpoint)
        #expect(request.url == endpoint)
        #expect(try ReadAuthorization(#require(request.headers["authorization"])).audience == origin)
    }

    @Test(
        arguments: [
            (0, "", "86400"), (1_770_000_060_999, "", "60"), (1_770_000_000_000, "", "1"), (UInt64.max, "", "2419200"),
            (0, #"{"ttl":300}"#, "300"), (0, #"{"ttl":0}"#, "1"), (0, #"{"ttl":99999999}"#, "2419200"),
            (1_770_000_060_999, #"{"ttl":300}"#, "60"), (1_770_000_060_999, #"{"ttl":30}"#, "30"),
        ] as [(UInt64, String, String)]
    )
    func ttlMatchesTheNotificationsExpiry(_ expiresAt: UInt64, _ native: String, _ header: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "")
        sample.expiresAt = expiresAt
        sample.native = native
        #expect(try request(sample).headers["ttl"] == header)
    }

    @Test(arguments: [
        (carillon_urgency.CARILLON_LOW, "", "low"), (.CARILLON_HIGH, "", "high"),
        (.CARILLON_HIGH, #"{"urgency":"very-low"}"#, "very-low"),
    ])
    func urgencyMatchesTheNotification(_ urgency: carillon_urgency, _ native: String, _ header: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "")
        sample.urgency = urgency
        sample.native = native
        #expect(try request(sample).headers["urgency"] == header)
    }

    /// In a nudge it is the operator's text for all events.
    @Test func onlyVisiblePushesHaveATopicAndItIsOpaque() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.collapseKey = "note1secret"
        let topic = try #require(try request(sample).headers["topic"])
        #expect(topic.utf8.count == 32)
        #expect(Base64URL.decode(topic) != nil)
        sample.native = #"{"topic":"likes"}"#
        #expect(try request(sample).headers["topic"] == "likes")
        sample.native = #"{"topic":"not a topic\r\nx: y"}"#
        #expect(try Base64URL.decode(#require(try request(sample).headers["topic"]))?.count == 24)
        for mode in [carillon_mode.CARILLON_SEALED, .CARILLON_WAKE] {
            sample.mode = mode
            #expect(try request(sample).headers["topic"] == nil)
        }
    }

    @Test func unknownModeIsUnsupported() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.mode = try #require(carillon_mode(rawValue: 99))
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
    }

    @Test(arguments: [
        "", "http://push.example.com/x", "https://", "https://user:pw@example.com/", "https://example.com/#x",
        "nostr:x",
        "https://example.com/" + String(repeating: "x", count: 2048),
    ])
    func endpointsAreHTTPSURLs(_ endpoint: String) throws {
        let registration = fixture.subscription(endpoint)
        #expect(fixture.refusal(of: registration)?.hasPrefix("token: expected the subscription's endpoint") == true)
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_INVALID)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func subscriptionsHaveBothKeys() throws {
        #expect(fixture.refusal(of: fixture.subscription()) == nil)
        let bare = SampleRegistration(token: TransportFixture.endpoint)
        #expect(fixture.refusal(of: bare) == "p256dh, auth: expected the subscription's keys, found neither")
        #expect(try fixture.deliver(.wake("dm"), to: bare) == .CARILLON_INVALID)
        let half = SampleRegistration(token: TransportFixture.endpoint, fields: [("auth", "BTBZMqHH6r4Tts7J_aSIgg")])
        #expect(fixture.refusal(of: half) == "p256dh: required with auth")
    }

    @Test(arguments: [
        ("https://web.push.apple.com/x", true), ("https://WEB.push.apple.com:443/x", true),
        ("https://fcm.googleapis.com/fcm/send/x", true), ("https://push.apple.com/x", false),
        ("https://evil.example/web.push.apple.com/", false), ("https://web.push.apple.com.evil.example/", false),
        ("https://evilpush.apple.com/", false), ("https://x.fcm.googleapis.com/", false),
    ])
    func sendsOnlyToHostsThatTheOperatorAllows(_ endpoint: String, _ isAllowed: Bool) throws {
        let strict = try TransportFixture(#""allowed_hosts":["*.push.apple.com","FCM.googleapis.com"]"#)
        let registration = strict.subscription(endpoint)
        #expect((strict.refusal(of: registration) == nil) == isAllowed)
        #expect(try strict.deliver(.wake("dm"), to: registration) == (isAllowed ? .CARILLON_OK : .CARILLON_INVALID))
    }

    @Test func busyHostIsReportedAsBusy() throws {
        fixture.host.setAdmission(.CARILLON_BUSY)
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_BUSY)
        #expect(fixture.host.outcomes.isEmpty)
    }

    @Test func logShowsThePublicKeyAndNoSecrets() throws {
        _ = try request(.alert(title: "secret", body: "secret"))
        fixture.host.answer(status: 403, body: #"{"reason":"BadJwtToken"}"#)
        let log = fixture.host.log.joined(separator: "\n")
        #expect(log.contains(Base64URL.encode(fixture.operatorKey.publicKey.x963Representation)))
        #expect(!log.contains("secret"))
        #expect(!log.contains(Base64URL.encode(fixture.operatorKey.rawRepresentation)))
    }
}
