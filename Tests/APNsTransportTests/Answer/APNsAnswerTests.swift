import CarillonABI
import PluginTestSupport
import Testing

@testable import APNsTransport

struct APNsAnswerTests {
    struct Row: Sendable {
        let status: UInt32
        let reason: String
        let kind: carillon_outcome_kind
        let label: String
        let scope: carillon_scope

        init(
            _ status: UInt32,
            _ reason: String,
            _ kind: carillon_outcome_kind,
            _ label: String,
            _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
        ) {
            self.status = status
            self.reason = reason
            self.kind = kind
            self.label = label
            self.scope = scope
        }
    }

    static let table = [
        Row(400, "BadCollapseId", .CARILLON_REJECTED, "bad-collapse-id"),
        Row(400, "BadDeviceToken", .CARILLON_GONE, "bad-device-token"),
        Row(400, "BadExpirationDate", .CARILLON_REJECTED, "bad-expiration-date"),
        Row(400, "BadMessageId", .CARILLON_REJECTED, "bad-message-id"),
        Row(400, "BadPriority", .CARILLON_REJECTED, "bad-priority"),
        Row(400, "BadTopic", .CARILLON_MISCONFIGURED, "bad-topic"),
        Row(400, "DeviceTokenNotForTopic", .CARILLON_GONE, "device-token-not-for-topic"),
        Row(400, "DuplicateHeaders", .CARILLON_REJECTED, "duplicate-headers"),
        Row(400, "IdleTimeout", .CARILLON_RETRY, "idle-timeout"),
        Row(400, "InvalidPushType", .CARILLON_REJECTED, "invalid-push-type"),
        Row(400, "MissingDeviceToken", .CARILLON_REJECTED, "missing-device-token"),
        Row(400, "MissingTopic", .CARILLON_MISCONFIGURED, "missing-topic"),
        Row(400, "PayloadEmpty", .CARILLON_REJECTED, "payload-empty"),
        Row(400, "TopicDisallowed", .CARILLON_MISCONFIGURED, "topic-disallowed"),
        Row(403, "BadCertificate", .CARILLON_MISCONFIGURED, "bad-certificate"),
        Row(403, "BadCertificateEnvironment", .CARILLON_MISCONFIGURED, "bad-certificate-environment"),
        Row(403, "BadEnvironmentKeyIdInToken", .CARILLON_MISCONFIGURED, "bad-environment-key-id-in-token"),
        Row(403, "BadEnvironmentKeyInToken", .CARILLON_MISCONFIGURED, "bad-environment-key-in-token"),
        Row(403, "Forbidden", .CARILLON_MISCONFIGURED, "forbidden"),
        Row(403, "InvalidProviderToken", .CARILLON_MISCONFIGURED, "invalid-provider-token"),
        Row(403, "MissingProviderToken", .CARILLON_MISCONFIGURED, "missing-provider-token"),
        Row(403, "UnrelatedKeyIdInToken", .CARILLON_MISCONFIGURED, "unrelated-key-id-in-token"),
        Row(404, "BadPath", .CARILLON_REJECTED, "bad-path"),
        Row(405, "MethodNotAllowed", .CARILLON_REJECTED, "method-not-allowed"),
        Row(410, "ExpiredToken", .CARILLON_GONE, "expired-token"),
        Row(410, "Unregistered", .CARILLON_GONE, "unregistered"),
        Row(413, "PayloadTooLarge", .CARILLON_REJECTED, "payload-too-large"),
        Row(
            429,
            "TooManyProviderTokenUpdates",
            .CARILLON_RETRY,
            "too-many-provider-token-updates",
            .CARILLON_SCOPE_TRANSPORT
        ),
        Row(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        Row(500, "InternalServerError", .CARILLON_RETRY, "internal-server-error"),
        Row(503, "ServiceUnavailable", .CARILLON_RETRY, "service-unavailable"),
        Row(503, "Shutdown", .CARILLON_RETRY, "shutdown"),
        // What Apple does not say today.
        Row(200, "", .CARILLON_DELIVERED, "delivered"),
        Row(302, "", .CARILLON_RETRY, "other"),
        Row(400, "SomethingNew", .CARILLON_REJECTED, "other"),
        Row(401, "Unauthorized", .CARILLON_REJECTED, "other"),
        Row(403, "SomethingNew", .CARILLON_MISCONFIGURED, "other"),
        Row(410, "SomethingNew", .CARILLON_GONE, "unregistered"),
        Row(418, "Teapot", .CARILLON_REJECTED, "other"),
        Row(429, "", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        Row(502, "", .CARILLON_RETRY, "server-error"),
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
        let registration = SampleRegistration(token: TransportFixture.deviceToken, registeredAt: registeredAt)
        #expect(try fixture.deliver(.wake("dm"), to: registration, ticket: 7) == .CARILLON_OK)
        #expect(fixture.host.outcomes.count == 1)
        fixture.host.answer(1, status: status, headers: headers, body: body, failure: failure)
        #expect(fixture.host.outcomes.count == 2)
        return try #require(fixture.host.outcomes.last)
    }

    @Test(arguments: table) func everyAnswerHasItsOutcome(_ row: Row) throws {
        let body = row.reason.isEmpty ? "" : #"{"reason":"\#(row.reason)"}"#
        #expect(
            try outcome(status: row.status, body: body)
                == RecordedOutcome(ticket: 7, kind: row.kind, status: row.status, reason: row.label, scope: row.scope)
        )
    }

    @Test func theTableKnowsEveryReason() {
        let covered = Set(APNsAnswerTests.table.map(\.reason)).union(["ExpiredProviderToken"])
            .union(BroadcastAnswerTests.table.map(\.reason))
        #expect(APNsReason.allCases.filter { !covered.contains($0.rawValue) }.isEmpty)
    }

    @Test(arguments: APNsReason.allCases) func everyLabelFitsAMetric(_ reason: APNsReason) {
        #expect(reason.label.count <= 40)
        #expect(reason.label.allSatisfy { ("a"..."z").contains($0) || $0 == "-" })
    }

    @Test(arguments: ["<html>503</html>", "{", #"{"reason":7}"#, "[]", #"{"reason":"Unregistered"}"#])
    func theStatusDecidesWhateverTheBodyIs(_ body: String) throws {
        #expect(try outcome(status: 503, body: body).kind == .CARILLON_RETRY)
        #expect(try outcome(status: 200, body: body).kind == .CARILLON_DELIVERED)
    }

    @Test(arguments: [429, 500, 503] as [UInt32]) func honoursRetryAfter(_ status: UInt32) throws {
        #expect(try outcome(status: status, headers: ["retry-after": "90"]).retryAfter == 90_000)
        // The manual clock stands at this date minus ten seconds.
        let date = "Mon, 02 Feb 2026 02:40:10 GMT"
        #expect(try outcome(status: status, headers: ["retry-after": date]).retryAfter == 10_000)
        #expect(try outcome(status: status, headers: ["retry-after": "later"]).retryAfter == 0)
    }

    @Test func onlyARetryCarriesAWait() throws {
        #expect(try outcome(status: 403, headers: ["retry-after": "90"]).retryAfter == 0)
    }

    @Test func aTokenFoundDeadBeforeItWasRegisteredAgainIsNotGone() throws {
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

    /// With a mistake in `topic` or `environment` every device is answered so.
    @Test(arguments: [
        ("DeviceTokenNotForTopic", "device-token-not-for-topic"), ("BadDeviceToken", "bad-device-token"),
    ])
    func aMistakeOfTheOperatorsCostsNoDevice(_ refusal: String, _ reason: String) throws {
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

    /// The operator says nothing of where those are that name their servers.
    @Test func aBadTokenWhereTheDeviceSaysItIsIsItsEnd() throws {
        let fixture = try TransportFixture()
        let device = SampleRegistration(token: TransportFixture.deviceToken, fields: [("environment", "sandbox")])
        #expect(try fixture.deliver(.wake("dm"), to: device) == .CARILLON_OK)
        fixture.host.answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#)
        #expect(fixture.host.outcomes.last?.kind == .CARILLON_GONE)
    }

    @Test(arguments: [410, 400] as [UInt32]) func aDeadTokenNeedsNoProof(_ status: UInt32) throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_OK)
        fixture.host.answer(status: status, body: #"{"reason":"Unregistered"}"#)
        #expect(fixture.host.outcomes.last?.kind == (status == 410 ? .CARILLON_GONE : .CARILLON_REJECTED))
    }

    @Test func noAnswerIsTriedAgain() throws {
        #expect(
            try outcome(status: 0, failure: "timeout")
                == RecordedOutcome(ticket: 7, kind: .CARILLON_RETRY, reason: "timeout")
        )
        #expect(try outcome(status: 0, failure: "").reason == "no-answer")
        #expect(try outcome(status: 0, failure: "SECRET token").reason == "no-answer")
    }
}
