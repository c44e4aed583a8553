import CarillonABI
import PluginTestSupport
import Testing

@testable import UnifiedPushTransport

struct PushServiceAnswerTests {
    private func outcome(
        status: UInt32,
        headers: [String: String] = [:],
        body: String = "{",
        failure: String = "",
        from endpoint: String = TransportFixture.endpoint
    ) throws -> RecordedOutcome {
        let fixture = try TransportFixture()
        let registration = SampleRegistration(token: endpoint)
        #expect(try fixture.deliver(.wake("dm"), to: registration, ticket: 9) == .CARILLON_OK)
        #expect(fixture.host.outcomes.isEmpty)
        fixture.host.answer(status: status, headers: headers, body: body, failure: failure)
        #expect(fixture.host.outcomes.count == 1)
        return try #require(fixture.host.outcomes.first)
    }

    /// UnifiedPush SERV_1.2.0; RFC 8030. A 3xx is a response: it is never followed.
    @Test(
        arguments: [
            (200, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (201, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (202, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (204, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (301, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (302, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (307, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (308, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (400, .CARILLON_REJECTED, "other", .CARILLON_SCOPE_DEFAULT),
            (401, .CARILLON_REJECTED, "unauthorized", .CARILLON_SCOPE_DEFAULT),
            (403, .CARILLON_REJECTED, "forbidden", .CARILLON_SCOPE_DEFAULT),
            (404, .CARILLON_GONE, "not-found", .CARILLON_SCOPE_DEFAULT),
            (405, .CARILLON_REJECTED, "other", .CARILLON_SCOPE_DEFAULT),
            (408, .CARILLON_RETRY, "timeout", .CARILLON_SCOPE_DEFAULT),
            (410, .CARILLON_GONE, "gone", .CARILLON_SCOPE_DEFAULT),
            (413, .CARILLON_REJECTED, "payload-too-large", .CARILLON_SCOPE_DEFAULT),
            (418, .CARILLON_REJECTED, "other", .CARILLON_SCOPE_DEFAULT),
            (429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
            (500, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (502, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
            (504, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (507, .CARILLON_RETRY, "insufficient-storage", .CARILLON_SCOPE_DEVICE),
            (101, .CARILLON_RETRY, "other", .CARILLON_SCOPE_DEFAULT),
        ] as [(UInt32, carillon_outcome_kind, String, carillon_scope)]
    )
    func everyStatusHasItsOutcome(
        _ status: UInt32,
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope
    ) throws {
        #expect(
            try outcome(status: status)
                == RecordedOutcome(ticket: 9, kind: kind, status: status, reason: reason, scope: scope)
        )
    }

    /// One user's messages of the day are used up; the next has his own.
    @Test func ntfysDailyLimitPausesOneDeviceUntilMidnight() throws {
        let outcome = try outcome(status: 429, body: #"{"code":42908,"http":429,"error":"limit reached"}"#)
        #expect(outcome.reason == "daily-limit")
        #expect(outcome.scope == .CARILLON_SCOPE_DEVICE)
        #expect(outcome.retryAfter == 76_830_000)
    }

    /// Distributors get their endpoints from browsers' push services, too.
    @Test func browserPushServiceResponsesAreRead() throws {
        let mozilla = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"
        let again = try outcome(
            status: 503,
            headers: ["retry-after": "120"],
            body: #"{"code":503,"errno":202}"#,
            from: mozilla
        )
        #expect(again.reason == "retry-at-once")
        #expect(again.retryAfter == 0)
        #expect(try outcome(status: 401, body: #"{"code":401,"errno":109}"#, from: mozilla).reason == "bad-vapid")
    }

    @Test(arguments: [429, 503, 507] as [UInt32]) func honoursRetryAfter(_ status: UInt32) throws {
        #expect(try outcome(status: status, headers: ["retry-after": "90"]).retryAfter == 90_000)
        let date = "Mon, 02 Feb 2026 02:40:10 GMT"
        #expect(try outcome(status: status, headers: ["retry-after": date]).retryAfter == 10_000)
    }

    @Test(
        arguments: [
            ("timeout", .CARILLON_RETRY, "timeout"), ("unresolved", .CARILLON_RETRY, "unresolved"),
            ("tls", .CARILLON_RETRY, "tls"), ("", .CARILLON_RETRY, "no-answer"),
            ("forbidden-address", .CARILLON_REJECTED, "forbidden-address"),
            ("invalid-url", .CARILLON_REJECTED, "invalid-url"),
        ] as [(String, carillon_outcome_kind, String)]
    )
    func withoutAnAnswerTheFailureDecides(_ failure: String, _ kind: carillon_outcome_kind, _ reason: String) throws {
        #expect(try outcome(status: 0, failure: failure) == RecordedOutcome(ticket: 9, kind: kind, reason: reason))
    }
}
