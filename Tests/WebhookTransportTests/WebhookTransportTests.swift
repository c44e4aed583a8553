import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import WebhookTransport

struct WebhookTransportTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let otherSecret = "whsec_" + Base64.encode([UInt8](0..<32))
    private static let app = #"{"url":"https://api.example.com/push","secrets":["\#(secret)"]}"#

    private func request(
        _ sample: SampleNotification,
        to registration: SampleRegistration = SampleRegistration(token: TransportFixture.token),
        configuration: String = "{}"
    ) throws -> RecordedRequest {
        let fixture = try TransportFixture(configuration: configuration)
        #expect(try fixture.deliver(sample, to: registration) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    private var alert: SampleNotification {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.url = "nostr:note1"
        sample.category = "kind_1"
        sample.actions = [.init(id: "open", label: "Open")]
        sample.data = #"{"event_id":"ab","kind":1}"#
        sample.expiresAt = 1_700_000_000_000
        return sample
    }

    @Test func anEndpointGetsTheWholeNotification() throws {
        let request = try request(alert)
        #expect(request.method == "POST" && request.url == TransportFixture.token)
        #expect(request.flags == 2)
        #expect(request.headerNames == ["content-type", "webhook-id", "webhook-timestamp"])
        #expect(request.headers["webhook-id"] == alert.id)
        #expect(
            try isSameJSON(
                request.bodyText,
                """
                {"id":"\(alert.id)","mode":"alert","signal":"reaction","count":1,"urgency":"normal",
                "expires_at":1700000000,"title":"bob","body":"hello","category":"kind_1","url":"nostr:note1",
                "actions":[{"id":"open","label":"Open"}],"data":{"event_id":"ab","kind":1}}
                """
            )
        )
    }

    /// The example of the specification.
    @Test func signaturesFollowStandardWebhooks() throws {
        let secrets = try SigningSecrets([Self.secret], "secrets")
        let signature = secrets.signatures(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            sentAt: 1_614_265_330_000,
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func eachSecretSigns() throws {
        let fields = [(name: "secret", value: "\(Self.secret) \(Self.otherSecret)")]
        let request = try request(alert, to: SampleRegistration(token: TransportFixture.token, fields: fields))
        let signatures = try #require(request.headers["webhook-signature"]).split(separator: " ")
        #expect(signatures.count == 2 && Set(signatures).count == 2)
        let id = try #require(request.headers["webhook-id"])
        let time = try #require(request.headers["webhook-timestamp"])
        let expected = HMACSHA256.authenticationCode(
            for: Array("\(id).\(time).".utf8) + request.body,
            key: [UInt8](0..<32)
        )
        #expect(signatures[1] == "v1," + Base64.encode(expected))
    }

    @Test func appsServerGetsTheRecipient() throws {
        let request = try request(alert, to: SampleRegistration(token: "user-42"), configuration: Self.app)
        #expect(request.url == "https://api.example.com/push" && request.flags == 0)
        #expect(request.headers["webhook-signature"]?.hasPrefix("v1,") == true)
        #expect(request.bodyText.contains(#""recipient":"user-42""#))
    }

    /// Otherwise, a user who registers an endpoint could forward such a signature to the app's server.
    @Test func theAppsSecretSignsForEndpointsOnlyOnRequest() throws {
        #expect(try request(alert, configuration: Self.app).headers["webhook-signature"] == nil)
        let trusting = #"{"endpoints":"app-secret","secrets":["\#(Self.secret)"]}"#
        #expect(try request(alert, configuration: trusting).headers["webhook-signature"] != nil)
    }

    @Test func wakeUpShowsTheSignal() throws {
        let body = try request(.wake("dm", count: 3)).bodyText
        let id = SampleNotification().id
        #expect(try isSameJSON(body, #"{"id":"\#(id)","mode":"wake","signal":"dm","count":3,"urgency":"normal"}"#))
    }

    @Test func aNudgeIsNeutral() throws {
        let request = try request(.nudge("dm", title: "New message"))
        #expect(request.bodyText.contains(#""mode":"nudge""#) && request.bodyText.contains(#""title":"New message""#))
    }

    @Test func anEnvelopeIsPassedOn() throws {
        let sample = SampleNotification.envelope(#"{"v":1,"ciphertext":"AAAA"}"#, title: "New message")
        let body = try request(sample).bodyText
        #expect(body.contains(#""mode":"sealed""#) && body.contains(#""sealed":{"v":1,"ciphertext":"AAAA"}"#))
        #expect(!body.contains("signal"))
        var bare = alert
        bare.mode = .CARILLON_SEALED
        #expect(try TransportFixture().deliver(bare) == .CARILLON_UNSUPPORTED)
    }

    @Test func rulesBlockAddsMembersWithoutReplacing() throws {
        var sample = alert
        sample.native = #"{"channel":"ops","id":"forged"}"#
        let body = try request(sample).bodyText
        #expect(body.contains(#""channel":"ops""#) && !body.contains("forged"))
        let mistake = #expect(throws: PluginError.self) {
            try WebhookTransport.check(JSONObject(parsing: #"{"channel":1,"id":2}"#))
        }
        #expect(mistake?.description.hasPrefix("/id: ") == true)
    }

    @Test func longTextsFit() throws {
        var sample = alert
        sample.body = String(repeating: "ü\\", count: 20_000)
        let body = try request(sample).body
        #expect(body.count <= NotificationJSON.limit && body.count > NotificationJSON.limit - 16)
    }

    @Test(arguments: [
        ("{}", "", "URL of your endpoint"), ("{}", "user-42", "URL of your endpoint"),
        ("{}", "ftp://host/x", "URL of your endpoint"), ("{}", "https://user@host/", "URL of your endpoint"),
        (app, "https://", "or the device's identifier at the app's server"),
        (
            #"{"url":"https://a.example/","endpoints":"refused"}"#, "https://b.example/",
            "the device's identifier at the app's server"
        ),
    ])
    func refusesTokens(configuration: String, token: String, said: String) throws {
        let fixture = try TransportFixture(configuration: configuration)
        let mistake = try #require(fixture.refusal(of: SampleRegistration(token: token)))
        #expect(mistake.hasPrefix("token: expected ") && mistake.contains(said), "\(mistake)")
    }

    @Test(arguments: ["abc", "whsec_", "whsec_AAAA", "whsec_!!"])
    func refusesSecrets(secret: String) throws {
        let fields = [(name: "secret", value: secret)]
        let registration = SampleRegistration(token: TransportFixture.token, fields: fields)
        let mistake = try #require(try TransportFixture().refusal(of: registration))
        #expect(mistake.hasPrefix("secret: expected whsec_") && !mistake.contains("AAAA"))
    }

    @Test func aDeviceOfTheAppsServerHasNoSecret() throws {
        let registration = SampleRegistration(token: "user-42", fields: [(name: "secret", value: Self.secret)])
        let mistake = try TransportFixture(configuration: Self.app).refusal(of: registration)
        #expect(mistake?.hasPrefix("secret: ") == true)
    }

    @Test(arguments: [
        (#"{"url":"example.com"}"#, "url: "), (#"{"secrets":["x"]}"#, "secrets: "), (#"{"secrets":"x"}"#, "secrets: "),
        (#"{"endpoints":"refused"}"#, "url: "), (#"{"endpoints":"app-secret"}"#, "secrets: "),
        (#"{"endpoints":"any"}"#, "endpoints: "), (#"{"uri":"https://a.example"}"#, "uri: "),
    ])
    func refusesConfigurations(configuration: String, key: String) throws {
        let mistake = #expect(throws: PluginError.self) { try TransportFixture(configuration: configuration) }
        #expect(mistake?.description.hasPrefix(key) == true)
    }

    /// The secret of an endpoint, and of the app's server if it differs.
    @Test(
        arguments: [
            (200, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (202, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (204, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (301, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (400, .CARILLON_REJECTED, "bad-request", .CARILLON_SCOPE_DEFAULT),
            (401, .CARILLON_REJECTED, "unauthorized", .CARILLON_SCOPE_DEFAULT),
            (403, .CARILLON_REJECTED, "forbidden", .CARILLON_SCOPE_DEFAULT),
            (404, .CARILLON_RETRY, "not-found", .CARILLON_SCOPE_DEVICE),
            (405, .CARILLON_REJECTED, "other", .CARILLON_SCOPE_DEFAULT),
            (408, .CARILLON_RETRY, "timeout", .CARILLON_SCOPE_DEFAULT),
            (410, .CARILLON_GONE, "gone", .CARILLON_SCOPE_DEFAULT),
            (413, .CARILLON_REJECTED, "payload-too-large", .CARILLON_SCOPE_DEFAULT),
            (422, .CARILLON_REJECTED, "bad-request", .CARILLON_SCOPE_DEFAULT),
            (425, .CARILLON_RETRY, "too-early", .CARILLON_SCOPE_DEVICE),
            (429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
            (500, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (502, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
        ] as [(UInt32, carillon_outcome_kind, String, carillon_scope)]
    )
    func readsTheAnswer(status: UInt32, kind: carillon_outcome_kind, reason: String, scope: carillon_scope) throws {
        let endpoint = try TransportFixture()
        #expect(try endpoint.deliver(alert) == .CARILLON_OK)
        endpoint.host.answer(status: status)
        let expected = RecordedOutcome(ticket: 1, kind: kind, status: status, reason: reason, scope: scope)
        #expect(endpoint.host.outcomes == [expected])

        let app = try TransportFixture(configuration: Self.app)
        #expect(try app.deliver(alert, to: SampleRegistration(token: "user-42")) == .CARILLON_OK)
        app.host.answer(status: status)
        let ofApp = RecordedOutcome(
            ticket: 1,
            kind: [401, 403].contains(status) ? .CARILLON_MISCONFIGURED : kind,
            status: status,
            reason: reason,
            scope: scope == .CARILLON_SCOPE_HOST ? .CARILLON_SCOPE_TRANSPORT : scope
        )
        #expect(app.host.outcomes == [ofApp])
    }

    @Test func retryAfterIsHonoured() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(alert) == .CARILLON_OK)
        fixture.host.answer(status: 503, headers: ["retry-after": "17"])
        #expect(fixture.host.outcomes.map(\.retryAfter) == [17_000])
    }

    @Test func secretsMayComeFromAFile() throws {
        let first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let file = #"{"url":"https://app.example.com/","secrets_file":"s","$files":{"s":"\#(first)\n"}}"#
        let written = #"{"url":"https://app.example.com/","secrets":["\#(first)"]}"#
        let signatures = try [file, written].map { configuration in
            let fixture = try TransportFixture(configuration: configuration)
            #expect(try fixture.deliver(alert, to: SampleRegistration(token: "user-42")) == .CARILLON_OK)
            return fixture.host.requests[0].headers["webhook-signature"]
        }
        #expect(signatures[0] != nil && signatures[0] == signatures[1])
        for (content, expected) in [
            ("", "secrets_file: expected one secret per line"), ("whsec_short", "secrets_file: expected whsec_"),
        ] {
            let configuration = #"{"secrets_file":"s","$files":{"s":"\#(content)"}}"#
            let mistake = #expect(throws: PluginError.self) { try TransportFixture(configuration: configuration) }
            #expect(mistake?.description.hasPrefix(expected) == true && mistake?.description.contains("short") == false)
        }
    }
}
