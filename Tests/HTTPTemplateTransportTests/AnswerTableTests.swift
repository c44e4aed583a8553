import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import HTTPTemplateTransport

/// The outcomes of responses: by the rows that an operator wrote, and by default.
struct AnswerTableTests {
    private static let rows = """
        [{"status":200,"when":{"/ok":false,"/error/code":7},"outcome":"gone","reason":"unknown"},
         {"status":200,"when":{"/ok":false},"outcome":"rejected","reason":"refused"},
         {"status":403,"contains":"quota","outcome":"retry","reason":"quota","wait":3600,"holds":"app"},
         {"status":403,"outcome":"misconfigured","reason":"bad-key"},
         {"status":429,"outcome":"retry","reason":"slow","wait":"/list/1/a~1b"},
         {"status":430,"outcome":"retry","wait_ms":"/ms","holds":"host"},
         {"status":"5xx","contains":"for good","outcome":"rejected"}]
        """

    private func outcome(
        _ status: UInt32,
        _ body: String = "",
        headers: [String: String] = [:],
        failure: String = "",
        url: String = "https://push.example.com/send",
        token: String = "alice",
        rows: String = AnswerTableTests.rows
    ) throws -> RecordedOutcome {
        let service = #"{"services":{"pager":{"url":"\#(url)","text":"{{body}}","answers":\#(rows)}}}"#
        let fixture = try TransportFixture(configuration: service)
        #expect(try fixture.deliver(.alert(title: "", body: "x"), to: SampleRegistration(token: token)) == .CARILLON_OK)
        fixture.host.answer(status: status, headers: headers, body: body, failure: failure)
        return try #require(fixture.host.outcomes.first)
    }

    @Test(
        arguments: [
            (200, "", .CARILLON_DELIVERED, "delivered", 0, .CARILLON_SCOPE_DEFAULT),
            (200, #"{"ok":true}"#, .CARILLON_DELIVERED, "delivered", 0, .CARILLON_SCOPE_DEFAULT),
            (200, #"{"ok":false}"#, .CARILLON_REJECTED, "refused", 0, .CARILLON_SCOPE_DEVICE),
            (200, #"{"ok":false,"error":{"code":7}}"#, .CARILLON_GONE, "unknown", 0, .CARILLON_SCOPE_DEVICE),
            (403, "no quota left", .CARILLON_RETRY, "quota", 3_600_000, .CARILLON_SCOPE_TRANSPORT),
            (403, "no", .CARILLON_MISCONFIGURED, "bad-key", 0, .CARILLON_SCOPE_DEVICE),
            (429, #"{"list":[0,{"a/b":0.65}]}"#, .CARILLON_RETRY, "slow", 650, .CARILLON_SCOPE_DEVICE),
            (429, #"{"list":["x"]}"#, .CARILLON_RETRY, "slow", 0, .CARILLON_SCOPE_DEVICE),
            (429, #"{"list":[0,{"a/b":1e300}]}"#, .CARILLON_RETRY, "slow", 86_400_000, .CARILLON_SCOPE_DEVICE),
            (430, #"{"ms":1500}"#, .CARILLON_RETRY, "retry", 1500, .CARILLON_SCOPE_HOST),
            (502, "gone for good", .CARILLON_REJECTED, "rejected", 0, .CARILLON_SCOPE_DEVICE),
            (502, "not JSON", .CARILLON_RETRY, "server-error", 0, .CARILLON_SCOPE_DEFAULT),
        ] as [(UInt32, String, carillon_outcome_kind, String, UInt32, carillon_scope)]
    )
    func firstMatchingRowDecides(
        status: UInt32,
        body: String,
        kind: carillon_outcome_kind,
        reason: String,
        wait: UInt32,
        scope: carillon_scope
    ) throws {
        let outcome = try outcome(status, body)
        #expect(outcome.kind == kind && outcome.reason == reason && outcome.status == status)
        #expect(outcome.retryAfter == wait && outcome.scope == scope)
    }

    /// Default: no response removes a device or pauses the queue.
    @Test(
        arguments: [
            (204, .CARILLON_DELIVERED, "delivered"), (301, .CARILLON_REJECTED, "redirect"),
            (400, .CARILLON_REJECTED, "bad-request"), (401, .CARILLON_REJECTED, "unauthorized"),
            (403, .CARILLON_REJECTED, "forbidden"), (404, .CARILLON_REJECTED, "not-found"),
            (408, .CARILLON_RETRY, "timeout"), (410, .CARILLON_REJECTED, "gone"),
            (413, .CARILLON_REJECTED, "payload-too-large"), (422, .CARILLON_REJECTED, "other"),
            (429, .CARILLON_RETRY, "too-many-requests"), (500, .CARILLON_RETRY, "server-error"),
            (503, .CARILLON_RETRY, "server-error"),
        ] as [(UInt32, carillon_outcome_kind, String)]
    )
    func responseWithoutARowHasItsDefaultOutcome(status: UInt32, kind: carillon_outcome_kind, reason: String) throws {
        let outcome = try outcome(status, rows: "[]")
        #expect(outcome.kind == kind && outcome.reason == reason)
    }

    @Test func busyUserServerIsPausedAsAWhole() throws {
        let headers = ["retry-after": "9"]
        let own = try outcome(503, headers: headers, url: "{{token}}", token: "https://own.example/", rows: "[]")
        #expect(own.scope == .CARILLON_SCOPE_HOST && own.retryAfter == 9000)
        #expect(try outcome(503, headers: headers, rows: "[]").scope == .CARILLON_SCOPE_DEVICE)
    }

    @Test func missingResponseMatchesNoRow() throws {
        let outcome = try outcome(0, failure: "timeout", rows: #"[{"outcome":"gone"}]"#)
        #expect(outcome.kind == .CARILLON_RETRY && outcome.reason == "timeout")
    }
}
