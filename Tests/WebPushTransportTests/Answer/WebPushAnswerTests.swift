import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

/// Every known response of push services, and its result.
struct WebPushAnswerTests {
    private typealias Bench = AnswerBench

    private let bench: AnswerBench

    init() throws {
        bench = try AnswerBench()
    }

    /// RFC 8030: responses that depend only on the status, at any service.
    static let byStatus = [
        AnswerRow(200, .CARILLON_DELIVERED, "delivered"), AnswerRow(201, .CARILLON_DELIVERED, "delivered"),
        AnswerRow(202, .CARILLON_DELIVERED, "delivered"), AnswerRow(301, .CARILLON_REJECTED, "redirect"),
        AnswerRow(307, .CARILLON_REJECTED, "redirect"), AnswerRow(400, .CARILLON_REJECTED, "other"),
        AnswerRow(401, .CARILLON_REJECTED, "unauthorized"), AnswerRow(403, .CARILLON_REJECTED, "forbidden"),
        AnswerRow(404, .CARILLON_GONE, "not-found"), AnswerRow(405, .CARILLON_REJECTED, "other"),
        AnswerRow(406, .CARILLON_REJECTED, "other"), AnswerRow(408, .CARILLON_RETRY, "timeout"),
        AnswerRow(410, .CARILLON_GONE, "gone"), AnswerRow(413, .CARILLON_REJECTED, "payload-too-large"),
        AnswerRow(429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
        AnswerRow(500, .CARILLON_RETRY, "server-error"), AnswerRow(502, .CARILLON_RETRY, "server-error"),
        AnswerRow(503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
        AnswerRow(504, .CARILLON_RETRY, "server-error"),
        AnswerRow(507, .CARILLON_RETRY, "insufficient-storage", .CARILLON_SCOPE_DEVICE),
    ]

    @Test(
        arguments: byStatus,
        ["", "<html>", "{", #"{"reason":7,"errno":"x"}"#, #"{"reason":"Unheard"}"#, #"{"code":1,"errno":999}"#]
    )
    func statusDecidesTheOutcome(_ row: AnswerRow, _ body: String) throws {
        var row = row
        row.body = body
        #expect(try bench.outcome(row) == row.outcome(ticket: 9))
        #expect(try bench.outcome(row, from: Bench.own) == row.outcome(ticket: 9))
    }

    /// Apple, "Sending web push notifications in web apps and browsers".
    @Test(arguments: [
        AnswerRow(201, .CARILLON_DELIVERED, "delivered"),
        AnswerRow.apple(400, "BadTtl", .CARILLON_REJECTED, "bad-ttl"),
        .apple(400, "BadUrgency", .CARILLON_REJECTED, "bad-urgency"),
        .apple(400, "BadWebPushRequest", .CARILLON_REJECTED, "bad-web-push-request"),
        .apple(400, "BadWebPushTopic", .CARILLON_REJECTED, "bad-topic"),
        .apple(400, "VapidPkHashMismatch", .CARILLON_REJECTED, "vapid-key-mismatch"),
        .apple(400, "IdleTimeout", .CARILLON_RETRY, "idle-timeout", .CARILLON_SCOPE_DEVICE),
        .apple(403, "BadAuthorizationHeader", .CARILLON_RETRY, "bad-authorization-header", .CARILLON_SCOPE_HOST),
        .apple(403, "BadJwtToken", .CARILLON_RETRY, "bad-jwt-token", .CARILLON_SCOPE_HOST),
        .apple(403, "BadVapidPublicKey", .CARILLON_RETRY, "bad-vapid-public-key", .CARILLON_SCOPE_HOST),
        .apple(403, "SomethingNew", .CARILLON_REJECTED, "forbidden"),
        .apple(404, "BadPath", .CARILLON_REJECTED, "bad-path"),
        .apple(405, "MethodNotAllowed", .CARILLON_REJECTED, "bad-method"),
        .apple(410, "Unregistered", .CARILLON_GONE, "gone"), AnswerRow(410, .CARILLON_GONE, "gone"),
        .apple(413, "PayloadTooLarge", .CARILLON_REJECTED, "payload-too-large"),
        .apple(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        AnswerRow(429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
        .apple(500, "InternalServerError", .CARILLON_RETRY, "server-error"),
        .apple(503, "ServiceUnavailable", .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
        .apple(503, "Shutdown", .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
    ])
    func apple(_ row: AnswerRow) throws {
        #expect(try bench.outcome(row, from: Bench.apple) == row.outcome(ticket: 9))
        #expect(bench.fixture.host.requests.count == 1)
    }

    /// autopush, "Error Codes".
    @Test(arguments: [
        AnswerRow(201, headers: ["location": "https://x/m/1", "ttl": "60"], .CARILLON_DELIVERED, "delivered"),
        AnswerRow.mozilla(400, 101, .CARILLON_REJECTED, "bad-web-push-request"),
        .mozilla(400, 110, .CARILLON_REJECTED, "bad-web-push-request"),
        .mozilla(404, 102, .CARILLON_GONE, "unregistered"), .mozilla(410, 103, .CARILLON_GONE, "gone"),
        .mozilla(413, 104, .CARILLON_REJECTED, "payload-too-large"), .mozilla(410, 105, .CARILLON_GONE, "gone"),
        .mozilla(410, 106, headers: ["cache-control": "max-age=86400"], .CARILLON_GONE, "gone"),
        .mozilla(400, 108, .CARILLON_REJECTED, "bad-router-type"),
        .mozilla(401, 109, .CARILLON_REJECTED, "bad-vapid"),
        .mozilla(401, 109, message: "Invalid VAPID audience", .CARILLON_REJECTED, "bad-vapid"),
        .mozilla(401, 109, message: "VAPID public key mismatch", .CARILLON_REJECTED, "vapid-key-mismatch"),
        .mozilla(400, 111, .CARILLON_REJECTED, "bad-ttl"), .mozilla(400, 112, .CARILLON_REJECTED, "bad-ttl"),
        .mozilla(400, 114, .CARILLON_REJECTED, "bad-ttl"), .mozilla(400, 113, .CARILLON_REJECTED, "bad-topic"),
        .mozilla(
            503,
            201,
            headers: ["retry-after": "120"],
            .CARILLON_RETRY,
            "server-error",
            .CARILLON_SCOPE_HOST,
            retryAfter: 120_000
        ),
        .mozilla(503, 202, headers: ["retry-after": "120"], .CARILLON_RETRY, "retry-at-once", .CARILLON_SCOPE_DEVICE),
        .mozilla(502, 900, .CARILLON_RETRY, "bridge-error", .CARILLON_SCOPE_DEVICE),
        .mozilla(502, 901, .CARILLON_RETRY, "bridge-error", .CARILLON_SCOPE_DEVICE),
        .mozilla(502, 902, .CARILLON_RETRY, "bridge-error", .CARILLON_SCOPE_DEVICE),
        .mozilla(502, 903, .CARILLON_RETRY, "bridge-error", .CARILLON_SCOPE_DEVICE),
        .mozilla(500, 999, .CARILLON_RETRY, "server-error"),
    ])
    func mozilla(_ row: AnswerRow) throws {
        #expect(try bench.outcome(row) == row.outcome(ticket: 9))
        #expect(bench.fixture.host.requests.count == 1)
    }

    /// Observations of senders (web-push-libs); Google does not document it.
    @Test(arguments: [
        AnswerRow(201, .CARILLON_DELIVERED, "delivered"),
        AnswerRow(400, body: "UnauthorizedRegistration", .CARILLON_REJECTED, "vapid-key-mismatch"),
        AnswerRow(400, .CARILLON_REJECTED, "other"), AnswerRow(401, .CARILLON_REJECTED, "unauthorized"),
        AnswerRow(
            403,
            body:
                "the key in the authorization header does not correspond to the sender ID used to subscribe this user.",
            .CARILLON_REJECTED,
            "vapid-key-mismatch"
        ),
        AnswerRow(
            403,
            body: "permission denied: invalid JWT provided\n",
            .CARILLON_RETRY,
            "bad-jwt-token",
            .CARILLON_SCOPE_HOST
        ),
        AnswerRow(403, body: "<html>", .CARILLON_REJECTED, "forbidden"),
        AnswerRow(403, body: #"{"reason":"VapidPkHashMismatch"}"#, .CARILLON_REJECTED, "forbidden"),
        AnswerRow(404, .CARILLON_GONE, "not-found"),
        AnswerRow(404, body: "NotRegistered", .CARILLON_GONE, "unregistered"),
        AnswerRow(410, body: "NotRegistered", .CARILLON_GONE, "gone"),
        AnswerRow(413, .CARILLON_REJECTED, "payload-too-large"),
        AnswerRow(
            429,
            headers: ["retry-after": "30"],
            .CARILLON_RETRY,
            "too-many-requests",
            .CARILLON_SCOPE_HOST,
            retryAfter: 30_000
        ),
        AnswerRow(500, .CARILLON_RETRY, "server-error"),
        AnswerRow(503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
    ])
    func google(_ row: AnswerRow) throws {
        #expect(try bench.outcome(row, from: Bench.google) == row.outcome(ticket: 9))
        #expect(bench.fixture.host.requests.count == 1)
    }

    /// Microsoft, "Push notification service request and response headers".
    @Test(arguments: [
        AnswerRow.windows(200, word: "received", .CARILLON_DELIVERED, "delivered"),
        .windows(201, .CARILLON_DELIVERED, "delivered"),
        .windows(200, word: "dropped", .CARILLON_RETRY, "dropped", .CARILLON_SCOPE_DEVICE),
        .windows(201, word: "channelThrottled", .CARILLON_RETRY, "throttled", .CARILLON_SCOPE_DEVICE),
        .windows(400, .CARILLON_REJECTED, "other"), .windows(401, .CARILLON_REJECTED, "bad-jwt-token"),
        .windows(403, .CARILLON_REJECTED, "vapid-key-mismatch"), .windows(404, .CARILLON_GONE, "not-found"),
        .windows(404, word: "dropped", .CARILLON_GONE, "unregistered"),
        .windows(405, .CARILLON_REJECTED, "other"),
        .windows(406, word: "dropped", .CARILLON_RETRY, "throttled", .CARILLON_SCOPE_HOST),
        .windows(406, .CARILLON_RETRY, "throttled", .CARILLON_SCOPE_HOST),
        .windows(410, word: "dropped", .CARILLON_GONE, "gone"), .windows(413, .CARILLON_REJECTED, "payload-too-large"),
        .windows(500, word: "dropped", .CARILLON_RETRY, "server-error"),
        .windows(503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
    ])
    func windows(_ row: AnswerRow) throws {
        #expect(try bench.outcome(row, from: Bench.windows) == row.outcome(ticket: 9))
        #expect(bench.fixture.host.requests.count == 1)
    }

    /// Microsoft explains a refusal in a sentence. A service of a user's own may not write into the log.
    @Test func windowsExplainsInTheLog() throws {
        var row = AnswerRow(400, .CARILLON_REJECTED, "other")
        row.headers = ["x-wns-error-description": "Bad TTL\u{1B}[31m\nü header"]
        for endpoint in [Bench.own, Bench.windows, Bench.windows] { _ = try bench.outcome(row, from: endpoint) }
        #expect(bench.lines("Microsoft did not deliver a message (400): Bad TTL[31m header") == 1)
        #expect(bench.lines("Bad TTL") == 1)
        bench.fixture.clock.advance(by: .minutes(60))
        _ = try bench.outcome(row, from: Bench.windows)
        #expect(bench.lines("Bad TTL") == 2)
    }

    /// A user's own service may imitate any of them; it loses its message and delays no other device.
    @Test(arguments: [
        AnswerRow.apple(403, "BadJwtToken", .CARILLON_REJECTED, "bad-jwt-token"),
        .apple(400, "VapidPkHashMismatch", .CARILLON_REJECTED, "vapid-key-mismatch"),
        .apple(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
        .apple(404, "BadPath", .CARILLON_REJECTED, "bad-path"), .mozilla(400, 111, .CARILLON_REJECTED, "bad-ttl"),
        .mozilla(503, 202, .CARILLON_RETRY, "retry-at-once", .CARILLON_SCOPE_DEVICE),
        .windows(200, word: "dropped", .CARILLON_RETRY, "dropped", .CARILLON_SCOPE_DEVICE),
        .windows(406, word: "dropped", .CARILLON_RETRY, "throttled", .CARILLON_SCOPE_HOST),
        .windows(403, .CARILLON_REJECTED, "forbidden"), .windows(401, .CARILLON_REJECTED, "unauthorized"),
        AnswerRow(403, body: "permission denied: invalid JWT provided", .CARILLON_REJECTED, "bad-jwt-token"),
    ])
    func otherHostsResponsesAreClassifiedByTheStandard(_ row: AnswerRow) throws {
        #expect(try bench.outcome(row, from: Bench.own) == row.outcome(ticket: 9))
        let pretender = "https://fcm.googleapis.com.evil.example/x"
        #expect(try bench.outcome(row, from: pretender) == row.outcome(ticket: 9))
    }

    @Test(arguments: [429, 500, 503, 507] as [UInt32]) func honoursRetryAfter(_ status: UInt32) throws {
        let headers = ["retry-after": "120"]
        #expect(try bench.outcome(AnswerRow(status, headers: headers, .CARILLON_RETRY, "")).retryAfter == 120_000)
    }

    @Test(
        arguments: [
            ("timeout", .CARILLON_RETRY), ("tls", .CARILLON_RETRY), ("forbidden-address", .CARILLON_REJECTED),
        ] as [(String, carillon_outcome_kind)]
    )
    func withoutAnAnswerTheFailureDecides(_ failure: String, _ kind: carillon_outcome_kind) throws {
        let row = AnswerRow(0, kind, failure)
        #expect(try bench.outcome(row, failure: failure) == row.outcome(ticket: 9))
    }
}
