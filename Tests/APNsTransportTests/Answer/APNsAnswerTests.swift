import CarillonABI
import PluginTestSupport
import Testing

@testable import APNsTransport

struct APNsAnswerTests {
    static let table: [AnswerRow] = [
        .apple(400, "BadCollapseId", .CARILLON_REJECTED, "bad-collapse-id"),
        .apple(400, "BadDeviceToken", .CARILLON_GONE, "bad-device-token"),
        .apple(400, "BadExpirationDate", .CARILLON_REJECTED, "bad-expiration-date"),
        .apple(400, "BadMessageId", .CARILLON_REJECTED, "bad-message-id"),
        .apple(400, "BadPriority", .CARILLON_REJECTED, "bad-priority"),
        .apple(400, "BadTopic", .CARILLON_MISCONFIGURED, "bad-topic"),
        .apple(400, "DeviceTokenNotForTopic", .CARILLON_GONE, "device-token-not-for-topic"),
        .apple(400, "DuplicateHeaders", .CARILLON_REJECTED, "duplicate-headers"),
        .apple(400, "IdleTimeout", .CARILLON_RETRY, "idle-timeout"),
        .apple(400, "InvalidPushType", .CARILLON_REJECTED, "invalid-push-type"),
        .apple(400, "MissingDeviceToken", .CARILLON_REJECTED, "missing-device-token"),
        .apple(400, "MissingTopic", .CARILLON_MISCONFIGURED, "missing-topic"),
        .apple(400, "PayloadEmpty", .CARILLON_REJECTED, "payload-empty"),
        .apple(400, "TopicDisallowed", .CARILLON_MISCONFIGURED, "topic-disallowed"),
        .apple(403, "BadCertificate", .CARILLON_MISCONFIGURED, "bad-certificate"),
        .apple(403, "BadCertificateEnvironment", .CARILLON_MISCONFIGURED, "bad-certificate-environment"),
        .apple(403, "BadEnvironmentKeyIdInToken", .CARILLON_MISCONFIGURED, "bad-environment-key-id-in-token"),
        .apple(403, "BadEnvironmentKeyInToken", .CARILLON_MISCONFIGURED, "bad-environment-key-in-token"),
        .apple(403, "Forbidden", .CARILLON_MISCONFIGURED, "forbidden"),
        .apple(403, "InvalidProviderToken", .CARILLON_MISCONFIGURED, "invalid-provider-token"),
        .apple(403, "MissingProviderToken", .CARILLON_MISCONFIGURED, "missing-provider-token"),
        .apple(403, "UnrelatedKeyIdInToken", .CARILLON_MISCONFIGURED, "unrelated-key-id-in-token"),
        .apple(404, "BadPath", .CARILLON_REJECTED, "bad-path"),
        .apple(405, "MethodNotAllowed", .CARILLON_REJECTED, "method-not-allowed"),
        .apple(410, "ExpiredToken", .CARILLON_GONE, "expired-token"),
        .apple(410, "Unregistered", .CARILLON_GONE, "unregistered"),
        .apple(413, "PayloadTooLarge", .CARILLON_REJECTED, "payload-too-large"),
        .apple(
            429,
            "TooManyProviderTokenUpdates",
            .CARILLON_RETRY,
            "too-many-provider-token-updates",
            .CARILLON_SCOPE_TRANSPORT
        ),
        .apple(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        .apple(500, "InternalServerError", .CARILLON_RETRY, "internal-server-error"),
        .apple(503, "ServiceUnavailable", .CARILLON_RETRY, "service-unavailable"),
        .apple(503, "Shutdown", .CARILLON_RETRY, "shutdown"),
        // Rows for responses that Apple does not send today.
        AnswerRow(200, .CARILLON_DELIVERED, "delivered"),
        AnswerRow(302, .CARILLON_RETRY, "other"),
        .apple(400, "SomethingNew", .CARILLON_REJECTED, "other"),
        .apple(401, "Unauthorized", .CARILLON_REJECTED, "other"),
        .apple(403, "SomethingNew", .CARILLON_MISCONFIGURED, "other"),
        .apple(410, "SomethingNew", .CARILLON_GONE, "unregistered"),
        .apple(418, "Teapot", .CARILLON_REJECTED, "other"),
        AnswerRow(429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        AnswerRow(502, .CARILLON_RETRY, "server-error"),
    ]

    private func outcome(
        status: UInt32,
        headers: [String: String] = [:],
        body: String = "",
        failure: String = "",
        registeredAt: UInt64 = 0
    ) throws -> RecordedOutcome {
        let fixture = try TransportFixture()
        try fixture.provePlace()
        let device = TransportFixture.device(registeredAt: registeredAt)
        #expect(try fixture.deliver(.wake("dm"), to: device, ticket: 7) == .CARILLON_OK)
        #expect(fixture.host.outcomes.count == 1)
        fixture.host.answer(1, status: status, headers: headers, body: body, failure: failure)
        #expect(fixture.host.outcomes.count == 2)
        return try #require(fixture.host.outcomes.last)
    }

    @Test(arguments: table) func everyResponseHasItsOutcome(_ row: AnswerRow) throws {
        #expect(try outcome(status: row.status, body: row.body) == row.outcome(ticket: 7))
    }

    @Test func theTableKnowsEveryReason() {
        let bodies = (Self.table + BroadcastAnswerTests.table).map(\.body)
        let missing = APNsReason.allCases.filter { reason in !bodies.contains(#"{"reason":"\#(reason.rawValue)"}"#) }
        #expect(missing == [.expiredProviderToken])
    }

    @Test(arguments: APNsReason.allCases) func everyLabelFitsAMetric(_ reason: APNsReason) {
        #expect(reason.label.count <= 40)
        #expect(reason.label.allSatisfy { ("a"..."z").contains($0) || $0 == "-" })
    }

    @Test(arguments: ["<html>503</html>", "{", #"{"reason":7}"#, "[]", #"{"reason":"Unregistered"}"#])
    func statusDecidesForEveryBody(_ body: String) throws {
        #expect(try outcome(status: 503, body: body).kind == .CARILLON_RETRY)
        #expect(try outcome(status: 200, body: body).kind == .CARILLON_DELIVERED)
    }

    @Test(arguments: [429, 500, 503] as [UInt32]) func honoursRetryAfter(_ status: UInt32) throws {
        #expect(try outcome(status: status, headers: ["retry-after": "90"]).retryAfter == 90_000)
        // The manual clock is ten seconds before this date.
        let date = "Mon, 02 Feb 2026 02:40:10 GMT"
        #expect(try outcome(status: status, headers: ["retry-after": date]).retryAfter == 10_000)
        #expect(try outcome(status: status, headers: ["retry-after": "later"]).retryAfter == 0)
    }

    @Test func onlyARetryCarriesAWait() throws {
        #expect(try outcome(status: 403, headers: ["retry-after": "90"]).retryAfter == 0)
    }

    @Test func deadTokenThatWasRegisteredAgainIsNotGone() throws {
        let body = { (timestamp: String) in #"{"reason":"Unregistered","timestamp":\#(timestamp)}"# }
        #expect(
            try outcome(status: 410, body: body("1000"), registeredAt: 1001)
                == RecordedOutcome(ticket: 7, kind: .CARILLON_REJECTED, status: 410, reason: "stale-gone")
        )
        #expect(try outcome(status: 410, body: body("1001"), registeredAt: 1001).kind == .CARILLON_GONE)
        #expect(try outcome(status: 410, body: body("1000"), registeredAt: 0).kind == .CARILLON_GONE)
        #expect(try outcome(status: 410, body: body("-1"), registeredAt: 1001).kind == .CARILLON_GONE)
        #expect(try outcome(status: 410, body: body("\"x\""), registeredAt: 1001).kind == .CARILLON_GONE)
    }

    /// An error of the operator in `topic` or `environment` gives this response for every device.
    @Test(arguments: [("DeviceTokenNotForTopic", "device-token-not-for-topic"), ("BadDeviceToken", "bad-device-token")])
    func operatorsErrorRemovesNoDevice(_ refusal: String, _ reason: String) throws {
        let fixture = try TransportFixture()
        let refuse = { (index: Int) in
            #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
            fixture.host.answer(index, status: 400, body: #"{"reason":"\#(refusal)"}"#)
            return try #require(fixture.host.outcomes.last)
        }
        for index in 0..<2 {
            #expect(
                try refuse(index)
                    == RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, status: 400, reason: reason)
            )
        }
        #expect(fixture.host.log.count { $0.contains("check topic and environment") } == 1)
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
        fixture.host.answer(2, status: 200)
        #expect(try refuse(3).kind == .CARILLON_GONE)
    }

    /// The operator does not configure the environment of devices that register with their own.
    @Test func badTokenInItsDeclaredEnvironmentIsGone() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(to: TransportFixture.device([("environment", "sandbox")])) == .CARILLON_OK)
        fixture.host.answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#)
        #expect(fixture.host.outcomes.last?.kind == .CARILLON_GONE)
    }

    @Test(arguments: [410, 400] as [UInt32]) func deadTokenIsGoneWithoutProof(_ status: UInt32) throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
        fixture.host.answer(status: status, body: #"{"reason":"Unregistered"}"#)
        #expect(fixture.host.outcomes.last?.kind == (status == 410 ? .CARILLON_GONE : .CARILLON_REJECTED))
    }

    @Test func missingResponseIsRetried() throws {
        #expect(
            try outcome(status: 0, failure: "timeout")
                == RecordedOutcome(ticket: 7, kind: .CARILLON_RETRY, reason: "timeout")
        )
        #expect(try outcome(status: 0, failure: "").reason == "no-answer")
        #expect(try outcome(status: 0, failure: "SECRET token").reason == "no-answer")
    }
}
