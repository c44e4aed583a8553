import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import FCMTransport

struct FCMAnswerTests {
    /// Returns an error in Google's form; `code` is in the detail of type FcmError.
    private static func error(
        _ status: String,
        code: String? = nil,
        message: String = "Request contains an invalid argument.",
        field: String? = nil,
        quota: (subject: String, description: String)? = nil
    ) -> String {
        var details: [String] = []
        if let code {
            details.append(#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
        }
        if let field {
            details.append(
                """
                {"@type":"type.googleapis.com/google.rpc.BadRequest",\
                "fieldViolations":[{"field":"\(field)","description":"Invalid value"}]}
                """
            )
        }
        if let quota {
            details.append(
                """
                {"@type":"type.googleapis.com/google.rpc.QuotaFailure",\
                "violations":[{"subject":"\(quota.subject)","description":"\(quota.description)"}]}
                """
            )
        }
        return """
            {"error":{"code":0,"message":"\(message)","status":"\(status)","details":[\(details.joined(separator: ","))]}}
            """
    }

    static let table = [
        AnswerRow(200, body: #"{"name":"projects/p/messages/1"}"#, .CARILLON_DELIVERED, "delivered"),
        AnswerRow(404, body: error("NOT_FOUND", code: "UNREGISTERED"), .CARILLON_GONE, "unregistered"),
        AnswerRow(404, body: error("NOT_FOUND"), .CARILLON_MISCONFIGURED, "project-not-found"),
        AnswerRow(404, body: "<html>404</html>", .CARILLON_MISCONFIGURED, "project-not-found"),
        AnswerRow(
            400,
            body: error(
                "INVALID_ARGUMENT",
                code: "INVALID_ARGUMENT",
                message: "The registration token is not a valid FCM registration token"
            ),
            .CARILLON_GONE,
            "invalid-token"
        ),
        AnswerRow(
            400,
            body: error("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", field: "message.token"),
            .CARILLON_GONE,
            "invalid-token"
        ),
        AnswerRow(
            400,
            body: error("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", field: "message.android.ttl"),
            .CARILLON_REJECTED,
            "invalid-argument"
        ),
        AnswerRow(
            400,
            body: error("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", message: "Android message is too big"),
            .CARILLON_REJECTED,
            "payload-too-large"
        ),
        AnswerRow(400, body: error("INVALID_ARGUMENT"), .CARILLON_REJECTED, "invalid-argument"),
        AnswerRow(400, body: "{}", .CARILLON_REJECTED, "invalid-argument"),
        AnswerRow(413, body: "<html>", .CARILLON_REJECTED, "payload-too-large"),
        AnswerRow(403, body: error("PERMISSION_DENIED"), .CARILLON_MISCONFIGURED, "permission-denied"),
        AnswerRow(403, .CARILLON_MISCONFIGURED, "permission-denied"),
        // Only the status is known, so it decides.
        AnswerRow(
            400,
            body: error("INVALID_ARGUMENT", code: "UNSPECIFIED_ERROR"),
            .CARILLON_REJECTED,
            "invalid-argument"
        ),
        AnswerRow(500, body: error("INTERNAL", code: "UNSPECIFIED_ERROR"), .CARILLON_RETRY, "server-error"),
        AnswerRow(
            401,
            body: error("UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR"),
            .CARILLON_REJECTED,
            "third-party-auth-error"
        ),
        AnswerRow(
            401,
            body: error("UNAUTHENTICATED", code: "APNS_AUTH_ERROR"),
            .CARILLON_REJECTED,
            "third-party-auth-error"
        ),
        AnswerRow(
            429,
            body: error("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED"),
            .CARILLON_RETRY,
            "quota-exceeded",
            .CARILLON_SCOPE_TRANSPORT
        ), AnswerRow(429, .CARILLON_RETRY, "quota-exceeded", .CARILLON_SCOPE_TRANSPORT),
        AnswerRow(429, body: error("RESOURCE_EXHAUSTED"), .CARILLON_RETRY, "quota-exceeded", .CARILLON_SCOPE_TRANSPORT),
        AnswerRow(
            429,
            body: error(
                "RESOURCE_EXHAUSTED",
                code: "QUOTA_EXCEEDED",
                quota: ("project:1234", "Message rate quota exceeded")
            ),
            .CARILLON_RETRY,
            "quota-exceeded",
            .CARILLON_SCOPE_TRANSPORT
        ),
        // One device gets too many pushes, which any sender can cause.
        AnswerRow(
            429,
            body: error(
                "RESOURCE_EXHAUSTED",
                code: "QUOTA_EXCEEDED",
                quota: ("token:x", "Device message rate exceeded")
            ),
            .CARILLON_RETRY,
            "quota-exceeded",
            .CARILLON_SCOPE_DEVICE
        ),
        AnswerRow(503, body: error("UNAVAILABLE", code: "UNAVAILABLE"), .CARILLON_RETRY, "unavailable"),
        AnswerRow(500, body: error("INTERNAL", code: "INTERNAL"), .CARILLON_RETRY, "internal"),
        AnswerRow(500, body: error("INTERNAL", code: "SOMETHING_NEW"), .CARILLON_RETRY, "server-error"),
        AnswerRow(502, body: "<html>", .CARILLON_RETRY, "server-error"), AnswerRow(408, .CARILLON_RETRY, "timeout"),
        AnswerRow(302, .CARILLON_REJECTED, "redirect"), AnswerRow(405, .CARILLON_REJECTED, "other"),
        // The code takes precedence over the status, and the status over HTTP's.
        AnswerRow(500, body: error("INTERNAL", code: "UNREGISTERED"), .CARILLON_GONE, "unregistered"),
        AnswerRow(400, body: error("UNAVAILABLE"), .CARILLON_RETRY, "unavailable"),
    ]

    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func outcome(_ status: UInt32, _ body: String, headers: [String: String] = [:]) throws -> RecordedOutcome {
        let index = fixture.host.requests.count
        try fixture.deliver()
        if index == 0 {
            fixture.grant()
        }
        fixture.host.answer(max(1, index), status: status, headers: headers, body: body)
        return try #require(fixture.host.outcomes.last)
    }

    @Test(arguments: table)
    func responseDecidesTheOutcome(_ row: AnswerRow) throws {
        let outcome = try outcome(row.status, row.body)
        #expect(outcome.kind == row.kind && outcome.reason == row.reason)
        #expect(outcome.status == row.status && outcome.scope == row.scope)
    }

    @Test func operatorsErrorIsLoggedOnceAnHour() throws {
        let rows: [(UInt32, String, String)] = [
            (404, Self.error("NOT_FOUND"), "check project_id"),
            (403, Self.error("PERMISSION_DENIED"), "did not allow the service account to send"),
            (401, Self.error("UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR"), "was registered as android"),
        ]
        for (status, body, words) in rows {
            let lines = { fixture.host.log.filter { $0.contains(words) }.count }
            for _ in 0..<3 { _ = try outcome(status, body) }
            #expect(lines() == 1)
        }
        fixture.clock.advance(by: .minutes(50))
        _ = try outcome(rows[0].0, rows[0].1)
        #expect(fixture.host.log.count == 3)
    }

    @Test func quotaPauseLastsAtLeastAMinute() throws {
        let body = Self.error("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED")
        #expect(try outcome(429, body).retryAfter == 60_000)
        #expect(try outcome(429, body, headers: ["retry-after": "5"]).retryAfter == 60_000)
        #expect(try outcome(429, body, headers: ["retry-after": "120"]).retryAfter == 120_000)
        let unavailable = Self.error("UNAVAILABLE", code: "UNAVAILABLE")
        #expect(try outcome(503, unavailable, headers: ["retry-after": "7"]).retryAfter == 7000)
        #expect(try outcome(503, unavailable).retryAfter == 0)
    }

    @Test func aTokenOfAnotherProjectIsGoneOnceOursIsKnownToWork() throws {
        let mismatch = Self.error("PERMISSION_DENIED", code: "SENDER_ID_MISMATCH")
        for _ in 0..<2 {
            let early = try outcome(403, mismatch)
            #expect(early.kind == .CARILLON_RETRY)
            #expect(early.reason == "sender-id-mismatch")
        }
        #expect(fixture.host.log.count == 1)
        #expect(try outcome(200, "{}").kind == .CARILLON_DELIVERED)
        #expect(try outcome(403, mismatch).kind == .CARILLON_GONE)
    }

    @Test func missingResponseIsRetried() throws {
        try fixture.deliver()
        fixture.grant()
        fixture.host.answer(1, status: 0, failure: "unreachable")
        #expect(fixture.host.outcomes == [RecordedOutcome(ticket: 1, kind: .CARILLON_RETRY, reason: "unreachable")])
    }
}
