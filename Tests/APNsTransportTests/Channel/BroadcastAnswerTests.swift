import CarillonABI
import PluginTestSupport
import Testing
import TimeTestSupport
import Units

@testable import APNsTransport

/// Every answer to a broadcast.
struct BroadcastAnswerTests {
    typealias Row = APNsAnswerTests.Row

    static let table = [
        Row(400, "BadChannelId", .CARILLON_GONE, "bad-channel-id"),
        Row(400, "ChannelNotRegistered", .CARILLON_GONE, "channel-not-registered"),
        Row(400, "FeatureNotEnabled", .CARILLON_REJECTED, "feature-not-enabled"),
        Row(400, "MissingChannelId", .CARILLON_REJECTED, "missing-channel-id"),
        Row(400, "BadRequestParams", .CARILLON_REJECTED, "bad-request-params"),
        Row(400, "BadRequestPayload", .CARILLON_REJECTED, "bad-request-payload"),
        Row(400, "PayloadEmpty", .CARILLON_REJECTED, "payload-empty"),
        Row(400, "BadMessageId", .CARILLON_REJECTED, "bad-message-id"),
        Row(400, "MissingPushType", .CARILLON_REJECTED, "missing-push-type"),
        Row(400, "InvalidPushType", .CARILLON_REJECTED, "invalid-push-type"),
        Row(400, "CannotCreateChannelConfig", .CARILLON_REJECTED, "cannot-create-channel-config"),
        Row(400, "BadExpirationDate", .CARILLON_REJECTED, "bad-expiration-date"),
        Row(400, "TopicDisallowed", .CARILLON_REJECTED, "topic-disallowed"),
        Row(400, "BadPriority", .CARILLON_REJECTED, "bad-priority"),
        Row(400, "IdleTimeout", .CARILLON_RETRY, "idle-timeout"),
        Row(400, "SomethingNew", .CARILLON_REJECTED, "other"),
        Row(403, "BadCertificate", .CARILLON_MISCONFIGURED, "bad-certificate"),
        Row(403, "BadCertificateEnvironment", .CARILLON_MISCONFIGURED, "bad-certificate-environment"),
        Row(403, "TopicMismatch", .CARILLON_REJECTED, "topic-mismatch"),
        Row(403, "MissingProviderToken", .CARILLON_MISCONFIGURED, "missing-provider-token"),
        Row(403, "InvalidProviderToken", .CARILLON_MISCONFIGURED, "invalid-provider-token"),
        Row(403, "SomethingNew", .CARILLON_REJECTED, "other"),
        Row(404, "BadPath", .CARILLON_REJECTED, "bad-path"),
        Row(405, "MethodNotAllowed", .CARILLON_REJECTED, "method-not-allowed"),
        Row(410, "Unregistered", .CARILLON_REJECTED, "unregistered"),
        Row(413, "PayloadTooLarge", .CARILLON_REJECTED, "payload-too-large"),
        Row(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        Row(
            429,
            "TooManyProviderTokenUpdates",
            .CARILLON_RETRY,
            "too-many-provider-token-updates",
            .CARILLON_SCOPE_TRANSPORT
        ),
        Row(500, "InternalServerError", .CARILLON_RETRY, "internal-server-error"),
        Row(503, "ServiceUnavailable", .CARILLON_RETRY, "service-unavailable"),
        Row(503, "Shutdown", .CARILLON_RETRY, "shutdown"),
        Row(200, "", .CARILLON_DELIVERED, "delivered"),
        Row(0, "", .CARILLON_RETRY, "no-answer"),
    ]

    @Test(arguments: table) func everyAnswerHasItsOutcome(_ row: Row) throws {
        let fixture = try BroadcastTests.fixture()
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
        fixture.accept()
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration(), ticket: 7)
        fixture.refuse(row.status, row.reason)
        #expect(
            fixture.host.outcomes.last
                == RecordedOutcome(
                    ticket: 7,
                    kind: row.kind,
                    status: row.status,
                    reason: row.label,
                    scope: row.scope
                )
        )
    }

    /// A channel that was made in the other environment must not be forgotten for that.
    @Test(arguments: ["BadChannelId", "ChannelNotRegistered"])
    func aChannelIsGoneOnlyWhereBroadcastsPass(_ reason: String) throws {
        let fixture = try BroadcastTests.fixture()
        // Pushes prove nothing here.
        try fixture.provePlace()
        for _ in 0..<2 {
            _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
            fixture.refuse(400, reason)
            #expect(fixture.host.outcomes.last?.kind == .CARILLON_REJECTED)
        }
        #expect(fixture.host.log.count == 1)
    }

    @Test func theOtherEnvironmentsRefusalStopsNobody() throws {
        let fixture = try BroadcastTests.fixture()
        let elsewhere = BroadcastTests.registration([("environment", "sandbox")])
        _ = try fixture.deliver(BroadcastTests.sample(), to: elsewhere)
        fixture.refuse(403, "InvalidProviderToken")
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
    }

    @Test func anExpiredTokenIsRenewed() throws {
        let fixture = try BroadcastTests.fixture()
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
        fixture.clock.advance(by: .minutes(30))
        fixture.refuse(403, "ExpiredProviderToken")
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_RETRY])
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
        #expect(Set(fixture.host.requests.map(\.connection)).count == 2)
    }
}
