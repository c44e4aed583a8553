import CarillonABI
import PluginTestSupport
import Testing

struct WebPushAnswerTests {
    private static let apple = "https://web.push.apple.com/QGFexample"
    private static let google = "https://fcm.googleapis.com/fcm/send/cExample:APA91b"
    private static let mozilla = TransportFixture.endpoint
    private static let windows = "https://wns2-par02p.notify.windows.com/w/?token=example"

    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func outcome(
        _ status: UInt32,
        _ body: String = "",
        headers: [String: String] = [:],
        from endpoint: String = mozilla,
        failure: String = ""
    ) throws -> RecordedOutcome {
        let index = fixture.host.requests.count
        #expect(try fixture.deliver(.wake("dm"), to: fixture.subscription(endpoint), ticket: 9) == .CARILLON_OK)
        fixture.host.answer(index, status: status, headers: headers, body: body, failure: failure)
        #expect(fixture.host.outcomes.count == index + 1)
        return try #require(fixture.host.outcomes.last)
    }

    @Test(
        arguments: [
            (200, .CARILLON_DELIVERED, "delivered"), (201, .CARILLON_DELIVERED, "delivered"),
            (202, .CARILLON_DELIVERED, "delivered"), (301, .CARILLON_REJECTED, "redirect"),
            (400, .CARILLON_REJECTED, "other"), (401, .CARILLON_REJECTED, "unauthorized"),
            (403, .CARILLON_REJECTED, "forbidden"), (404, .CARILLON_GONE, "not-found"), (410, .CARILLON_GONE, "gone"),
            (413, .CARILLON_REJECTED, "payload-too-large"), (429, .CARILLON_RETRY, "too-many-requests"),
            (500, .CARILLON_RETRY, "server-error"), (503, .CARILLON_RETRY, "server-error"),
        ] as [(UInt32, carillon_outcome_kind, String)],
        ["", "<html>", "{", #"{"reason":7,"errno":"x"}"#, #"{"reason":"Unheard"}"#, #"{"code":1,"errno":999}"#]
    )
    func theStatusDecides(
        _ answer: (status: UInt32, kind: carillon_outcome_kind, reason: String),
        _ body: String
    ) throws {
        let expected = RecordedOutcome(ticket: 9, kind: answer.kind, status: answer.status, reason: answer.reason)
        #expect(try outcome(answer.status, body) == expected)
    }

    /// Apple, "Sending web push notifications in web apps and browsers"; autopush, "Error Codes"; Microsoft, "Push
    /// notification service request and response headers".
    @Test(
        arguments: [
            (400, #"{"reason":"BadTtl"}"#, .CARILLON_REJECTED, "bad-ttl"),
            (400, #"{"reason":"IdleTimeout"}"#, .CARILLON_RETRY, "idle-timeout"),
            (403, #"{"reason":"BadJwtToken"}"#, .CARILLON_REJECTED, "bad-jwt-token"),
            (403, #"{"reason":"BadVapidPublicKey"}"#, .CARILLON_REJECTED, "bad-vapid-public-key"),
            (404, #"{"reason":"BadPath"}"#, .CARILLON_REJECTED, "bad-path"),
            (401, #"{"code":401,"errno":109,"error":"Unauthorized"}"#, .CARILLON_REJECTED, "bad-vapid"),
            (400, #"{"code":400,"errno":111,"error":"Bad Request"}"#, .CARILLON_REJECTED, "bad-ttl"),
            (404, #"{"code":404,"errno":102,"error":"Not Found"}"#, .CARILLON_GONE, "not-found"),
            (410, #"{"code":410,"errno":103,"error":"Gone"}"#, .CARILLON_GONE, "gone"),
            (413, #"{"code":413,"errno":104,"error":"Payload Too Large"}"#, .CARILLON_REJECTED, "payload-too-large"),
        ] as [(UInt32, String, carillon_outcome_kind, String)]
    )
    func whatTheySayBesideItRefinesIt(
        _ status: UInt32,
        _ body: String,
        _ kind: carillon_outcome_kind,
        _ reason: String
    ) throws {
        #expect(try outcome(status, body) == RecordedOutcome(ticket: 9, kind: kind, status: status, reason: reason))
    }

    @Test(
        arguments: [
            (apple, 400, #"{"reason":"VapidPkHashMismatch"}"#),
            (
                google, 403,
                "the VAPID credentials in the authorization header do not correspond to the credentials used"
            ),
            (google, 403, "the key in the authorization header does not correspond to the sender ID used"),
        ] as [(String, UInt32, String)]
    )
    func aSubscriptionOfAnotherKeyIsDeadOnceOursWasProven(
        _ endpoint: String,
        _ status: UInt32,
        _ body: String
    ) throws {
        let mismatch = { (kind: carillon_outcome_kind) in
            RecordedOutcome(ticket: 9, kind: kind, status: status, reason: "vapid-key-mismatch")
        }
        #expect(try outcome(201, from: Self.mozilla).kind == .CARILLON_DELIVERED)
        #expect(try outcome(status, body, from: endpoint) == mismatch(.CARILLON_REJECTED))
        #expect(try outcome(201, from: endpoint).kind == .CARILLON_DELIVERED)
        #expect(try outcome(status, body, from: endpoint) == mismatch(.CARILLON_GONE))
    }

    /// A wrong clock must not cost the devices of everybody whose browser is Google's (web-push-libs/web-push, issue 679).
    @Test(
        arguments: [
            ("permission denied: invalid JWT provided\n", "bad-jwt-token"), ("invalid JWT provided\n", "bad-jwt-token"),
            ("", "forbidden"), ("<html>", "forbidden"), (#"{"reason":"VapidPkHashMismatch"}"#, "forbidden"),
        ]
    )
    func whatElseGoogleForbidsCostsNoDevice(_ body: String, _ reason: String) throws {
        #expect(try outcome(201, from: Self.google).kind == .CARILLON_DELIVERED)
        let expected = RecordedOutcome(ticket: 9, kind: .CARILLON_REJECTED, status: 403, reason: reason)
        #expect(try outcome(403, body, from: Self.google) == expected)
        #expect(fixture.host.log.contains { $0.contains("VAPID token") } == (reason == "bad-jwt-token"))
    }

    @Test func a403OfAnybodyElseCostsNoDevice() throws {
        #expect(try outcome(201).kind == .CARILLON_DELIVERED)
        #expect(try outcome(403).kind == .CARILLON_REJECTED)
        #expect(try outcome(201, from: "https://fcm.googleapis.com.evil.example/x").kind == .CARILLON_DELIVERED)
        #expect(try outcome(403, from: "https://fcm.googleapis.com.evil.example/x").reason == "forbidden")
    }

    @Test(
        arguments: [
            (200, "received", .CARILLON_DELIVERED, "delivered"), (200, "dropped", .CARILLON_RETRY, "dropped"),
            (200, "channelThrottled", .CARILLON_RETRY, "throttled"), (406, "dropped", .CARILLON_RETRY, "throttled"),
            (410, "dropped", .CARILLON_GONE, "gone"),
        ] as [(UInt32, String, carillon_outcome_kind, String)]
    )
    func whatMicrosoftDropsWasNotDelivered(
        _ status: UInt32,
        _ word: String,
        _ kind: carillon_outcome_kind,
        _ reason: String
    ) throws {
        let headers = ["x-wns-notificationstatus": word]
        #expect(
            try outcome(status, headers: headers, from: Self.windows)
                == RecordedOutcome(ticket: 9, kind: kind, status: status, reason: reason)
        )
    }

    @Test(arguments: [429, 500, 503] as [UInt32]) func honoursRetryAfter(_ status: UInt32) throws {
        let answer = try outcome(status, #"{"code":503,"errno":201}"#, headers: ["retry-after": "120"])
        #expect(answer.retryAfter == 120_000)
    }

    @Test(
        arguments: [
            ("timeout", .CARILLON_RETRY), ("tls", .CARILLON_RETRY), ("forbidden-address", .CARILLON_REJECTED),
        ] as [(String, carillon_outcome_kind)]
    )
    func withoutAnAnswerTheFailureDecides(_ failure: String, _ kind: carillon_outcome_kind) throws {
        #expect(try outcome(0, failure: failure) == RecordedOutcome(ticket: 9, kind: kind, reason: failure))
    }

    @Test func aTokenThatIsRefusedIsSaidOnceAnHour() throws {
        let warnings = { self.fixture.host.log.filter { $0.contains("VAPID token") }.count }
        _ = try outcome(404)
        #expect(warnings() == 0)
        _ = try outcome(401, #"{"errno":109}"#)
        _ = try outcome(403, #"{"reason":"BadJwtToken"}"#, from: Self.apple)
        #expect(warnings() == 1)
        fixture.clock.advance(by: 60 * ManualClock.minute)
        _ = try outcome(403, #"{"reason":"BadAuthorizationHeader"}"#, from: Self.apple)
        #expect(warnings() == 2)
    }
}
