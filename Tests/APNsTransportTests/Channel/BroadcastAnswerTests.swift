import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

struct BroadcastAnswerTests {
    static let table: [AnswerRow] = [
        .apple(400, "BadChannelId", .CARILLON_GONE, "bad-channel-id"),
        .apple(400, "ChannelNotRegistered", .CARILLON_GONE, "channel-not-registered"),
        .apple(400, "FeatureNotEnabled", .CARILLON_REJECTED, "feature-not-enabled"),
        .apple(400, "MissingChannelId", .CARILLON_REJECTED, "missing-channel-id"),
        .apple(400, "BadRequestParams", .CARILLON_REJECTED, "bad-request-params"),
        .apple(400, "BadRequestPayload", .CARILLON_REJECTED, "bad-request-payload"),
        .apple(400, "PayloadEmpty", .CARILLON_REJECTED, "payload-empty"),
        .apple(400, "BadMessageId", .CARILLON_REJECTED, "bad-message-id"),
        .apple(400, "MissingPushType", .CARILLON_REJECTED, "missing-push-type"),
        .apple(400, "InvalidPushType", .CARILLON_REJECTED, "invalid-push-type"),
        .apple(400, "CannotCreateChannelConfig", .CARILLON_REJECTED, "cannot-create-channel-config"),
        .apple(400, "BadExpirationDate", .CARILLON_REJECTED, "bad-expiration-date"),
        .apple(400, "TopicDisallowed", .CARILLON_REJECTED, "topic-disallowed"),
        .apple(400, "BadPriority", .CARILLON_REJECTED, "bad-priority"),
        .apple(400, "IdleTimeout", .CARILLON_RETRY, "idle-timeout"),
        .apple(400, "SomethingNew", .CARILLON_REJECTED, "other"),
        .apple(403, "BadCertificate", .CARILLON_MISCONFIGURED, "bad-certificate"),
        .apple(403, "BadCertificateEnvironment", .CARILLON_MISCONFIGURED, "bad-certificate-environment"),
        .apple(403, "TopicMismatch", .CARILLON_REJECTED, "topic-mismatch"),
        .apple(403, "MissingProviderToken", .CARILLON_MISCONFIGURED, "missing-provider-token"),
        .apple(403, "InvalidProviderToken", .CARILLON_MISCONFIGURED, "invalid-provider-token"),
        .apple(403, "SomethingNew", .CARILLON_REJECTED, "other"),
        .apple(404, "BadPath", .CARILLON_REJECTED, "bad-path"),
        .apple(405, "MethodNotAllowed", .CARILLON_REJECTED, "method-not-allowed"),
        .apple(410, "Unregistered", .CARILLON_REJECTED, "unregistered"),
        .apple(413, "PayloadTooLarge", .CARILLON_REJECTED, "payload-too-large"),
        .apple(429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_DEVICE),
        .apple(
            429,
            "TooManyProviderTokenUpdates",
            .CARILLON_RETRY,
            "too-many-provider-token-updates",
            .CARILLON_SCOPE_TRANSPORT
        ),
        .apple(500, "InternalServerError", .CARILLON_RETRY, "internal-server-error"),
        .apple(503, "ServiceUnavailable", .CARILLON_RETRY, "service-unavailable"),
        .apple(503, "Shutdown", .CARILLON_RETRY, "shutdown"),
        AnswerRow(200, .CARILLON_DELIVERED, "delivered"),
        AnswerRow(0, .CARILLON_RETRY, "no-answer"),
    ]

    @Test(arguments: table) func everyResponseHasItsOutcome(_ row: AnswerRow) throws {
        let fixture = try BroadcastTests.fixture()
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
        fixture.accept()
        _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration(), ticket: 7)
        fixture.host.answer(1, status: row.status, body: row.body)
        #expect(fixture.host.outcomes.last == row.outcome(ticket: 7))
    }

    /// A channel of the other environment must not be removed.
    @Test(arguments: ["BadChannelId", "ChannelNotRegistered"])
    func channelIsGoneOnlyIfBroadcastsSucceed(_ reason: String) throws {
        let fixture = try BroadcastTests.fixture()
        // Pushes prove nothing about channels.
        try fixture.provePlace()
        for _ in 0..<2 {
            _ = try fixture.deliver(BroadcastTests.sample(), to: BroadcastTests.registration())
            fixture.refuse(400, reason)
            #expect(fixture.host.outcomes.last?.kind == .CARILLON_REJECTED)
        }
        #expect(fixture.host.log.count == 1)
    }

    @Test func refusalInOneEnvironmentDoesNotPauseTheOther() throws {
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
