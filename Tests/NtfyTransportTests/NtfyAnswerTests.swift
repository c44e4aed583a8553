import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

/// Every response in ntfy's list, on an open topic and on one that requires a token.
struct NtfyAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: UInt32
        let code: Int?
        let kind: carillon_outcome_kind
        let reason: String
        let scope: carillon_scope
        /// The scope of an account's limit, if it differs from the topic's.
        let scopeOfAccount: carillon_scope
        let retryAfter: UInt32
        let retryAfterOfAccount: UInt32

        init(
            _ status: UInt32,
            _ code: Int?,
            _ kind: carillon_outcome_kind,
            _ reason: String,
            _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT,
            ofAccount scopeOfAccount: carillon_scope? = nil,
            after retryAfter: UInt32 = 0,
            ofAccount retryAfterOfAccount: UInt32? = nil
        ) {
            (self.status, self.code, self.kind, self.reason) = (status, code, kind, reason)
            (self.scope, self.retryAfter) = (scope, retryAfter)
            self.scopeOfAccount = scopeOfAccount ?? scope
            self.retryAfterOfAccount = retryAfterOfAccount ?? retryAfter
        }

        var testDescription: String { "\(status) \(code.map(String.init) ?? "")" }
    }

    /// From 02:40 to half a minute after midnight, UTC, in milliseconds.
    private static let untilMidnight: UInt32 = 76_830_000

    private static func tooMany(_ code: Int?) -> Row {
        Row(
            429,
            code,
            .CARILLON_RETRY,
            "too-many-requests",
            .CARILLON_SCOPE_HOST,
            ofAccount: .CARILLON_SCOPE_DEVICE,
            ofAccount: 5000
        )
    }

    static let table = [
        Row(200, nil, .CARILLON_DELIVERED, "delivered"), Row(301, nil, .CARILLON_REJECTED, "redirect"),
        Row(308, nil, .CARILLON_REJECTED, "redirect"), Row(400, nil, .CARILLON_REJECTED, "bad-request"),
        Row(400, 40000, .CARILLON_REJECTED, "bad-request"), Row(400, 40001, .CARILLON_REJECTED, "bad-contact"),
        Row(400, 40002, .CARILLON_REJECTED, "bad-delay"), Row(400, 40006, .CARILLON_REJECTED, "bad-delay"),
        Row(400, 40007, .CARILLON_REJECTED, "bad-priority"), Row(400, 40008, .CARILLON_REJECTED, "bad-request"),
        Row(400, 40009, .CARILLON_REJECTED, "bad-topic"), Row(400, 40010, .CARILLON_REJECTED, "bad-topic"),
        Row(400, 40011, .CARILLON_REJECTED, "bad-request"), Row(400, 40013, .CARILLON_REJECTED, "bad-attachment"),
        Row(400, 40015, .CARILLON_REJECTED, "bad-attachment"), Row(400, 40017, .CARILLON_REJECTED, "bad-request"),
        Row(400, 40018, .CARILLON_REJECTED, "bad-actions"), Row(400, 40021, .CARILLON_REJECTED, "bad-icon"),
        Row(400, 40033, .CARILLON_REJECTED, "bad-contact"), Row(400, 40042, .CARILLON_REJECTED, "bad-template"),
        Row(401, 40101, .CARILLON_REJECTED, "unauthorized"), Row(403, 40301, .CARILLON_REJECTED, "forbidden"),
        Row(404, 40401, .CARILLON_REJECTED, "not-found"), Row(409, 40901, .CARILLON_REJECTED, "other"),
        Row(410, 41001, .CARILLON_REJECTED, "gone"), Row(413, 41301, .CARILLON_REJECTED, "payload-too-large"),
        Row(413, 41302, .CARILLON_REJECTED, "payload-too-large"),
        Row(413, 41303, .CARILLON_REJECTED, "payload-too-large"),
        tooMany(42901),
        // A proxy before it.
        tooMany(nil), Row(429, 42902, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42903, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42904, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42905, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42906, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42907, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(429, 42908, .CARILLON_RETRY, "daily-limit", .CARILLON_SCOPE_DEVICE, after: untilMidnight),
        Row(429, 42909, .CARILLON_RETRY, "too-many-wrong-tokens", .CARILLON_SCOPE_DEVICE, after: 60_000),
        Row(429, 42910, .CARILLON_RETRY, "limit-reached", .CARILLON_SCOPE_DEVICE, after: 5000),
        Row(500, 50001, .CARILLON_RETRY, "server-error"), Row(500, 50003, .CARILLON_RETRY, "server-error"),
        Row(502, nil, .CARILLON_RETRY, "server-error"),
        Row(503, nil, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
        Row(507, 50701, .CARILLON_RETRY, "insufficient-storage", .CARILLON_SCOPE_DEVICE),
    ]

    private func outcome(_ row: Row, hasAccount: Bool, headers: [String: String] = [:]) throws -> RecordedOutcome {
        let fixture = try TransportFixture()
        let fields = hasAccount ? [(name: "access_token", value: "tk_1")] : []
        let registration = SampleRegistration(token: TransportFixture.token, fields: fields)
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_OK)
        let body = row.code.map { #"{"code":\#($0),"http":\#(row.status),"error":"…","link":"…"}"# } ?? "<html>"
        fixture.host.answer(status: row.status, headers: headers, body: body)
        #expect(fixture.host.outcomes.count == 1)
        return try #require(fixture.host.outcomes.first)
    }

    @Test(arguments: table, [false, true]) func everyRowHasItsOutcome(_ row: Row, _ hasAccount: Bool) throws {
        let expected = RecordedOutcome(
            ticket: 1,
            kind: row.kind,
            status: row.status,
            retryAfter: hasAccount ? row.retryAfterOfAccount : row.retryAfter,
            reason: row.reason,
            scope: hasAccount ? row.scopeOfAccount : row.scope
        )
        #expect(try outcome(row, hasAccount: hasAccount) == expected)
    }

    /// ntfy's clock may be behind ours: then its day has not ended when ours has.
    @Test(arguments: [(-1, 30_001), (0, 30_000), (29_999, 1), (30_000, 86_400_000)] as [(Int64, UInt32)])
    func dailyLimitIsRetriedAfterMidnight(_ sinceMidnight: Int64, _ wait: UInt32) throws {
        let fixture = try TransportFixture()
        fixture.clock.advance(by: .milliseconds(76_800_000 + sinceMidnight))
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
        fixture.host.answer(status: 429, body: #"{"code":42908}"#)
        #expect(fixture.host.outcomes.first?.retryAfter == wait)
    }

    @Test(arguments: [(42901, 90_000), (42909, 90_000), (42908, untilMidnight)] as [(Int, UInt32)])
    func retryAfterIsHonoured(_ code: Int, _ wait: UInt32) throws {
        let row = Row(429, code, .CARILLON_RETRY, "")
        for hasAccount in [false, true] {
            #expect(try outcome(row, hasAccount: hasAccount, headers: ["retry-after": "90"]).retryAfter == wait)
        }
    }
}
