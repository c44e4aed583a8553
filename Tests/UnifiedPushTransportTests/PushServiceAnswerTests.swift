import CarillonABI
import PluginTestSupport
import Testing

@testable import UnifiedPushTransport

struct PushServiceAnswerTests {
    private func outcome(
        status: UInt32,
        headers: [String: String] = [:],
        failure: String = ""
    ) throws -> RecordedOutcome {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.wake("dm"), to: fixture.plain, ticket: 9) == .CARILLON_OK)
        #expect(fixture.host.outcomes.isEmpty)
        fixture.host.answer(status: status, headers: headers, body: "{", failure: failure)
        #expect(fixture.host.outcomes.count == 1)
        return try #require(fixture.host.outcomes.first)
    }

    @Test(
        arguments: [
            (200, .CARILLON_DELIVERED, "delivered"), (201, .CARILLON_DELIVERED, "delivered"),
            (202, .CARILLON_DELIVERED, "delivered"), (204, .CARILLON_DELIVERED, "delivered"),
            (301, .CARILLON_REJECTED, "redirect"), (302, .CARILLON_REJECTED, "redirect"),
            (307, .CARILLON_REJECTED, "redirect"),
            (400, .CARILLON_REJECTED, "other"), (401, .CARILLON_REJECTED, "unauthorized"),
            (403, .CARILLON_REJECTED, "forbidden"), (404, .CARILLON_GONE, "not-found"),
            (405, .CARILLON_REJECTED, "other"),
            (410, .CARILLON_GONE, "gone"), (413, .CARILLON_REJECTED, "payload-too-large"),
            (418, .CARILLON_REJECTED, "other"),
            (429, .CARILLON_RETRY, "too-many-requests"), (500, .CARILLON_RETRY, "server-error"),
            (502, .CARILLON_RETRY, "server-error"), (503, .CARILLON_RETRY, "server-error"),
            (507, .CARILLON_RETRY, "insufficient-storage"), (101, .CARILLON_RETRY, "other"),
        ] as [(UInt32, carillon_outcome_kind, String)]
    )
    func everyStatusHasItsOutcome(_ status: UInt32, _ kind: carillon_outcome_kind, _ reason: String) throws {
        #expect(try outcome(status: status) == RecordedOutcome(ticket: 9, kind: kind, status: status, reason: reason))
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
        #expect(
            try outcome(status: 0, failure: failure) == RecordedOutcome(ticket: 9, kind: kind, reason: reason)
        )
    }
}
