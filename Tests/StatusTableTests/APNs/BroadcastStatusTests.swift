import CarillonLab
import Testing

@testable import APNsTransport

/// Apple's “Handling error responses from Apple Push Notification service” for broadcasts, row by row. An operator
/// registers a channel; an error of one channel or one message stops no pushes to devices.
@Suite(.stage(APNs()))
struct BroadcastStatusTests {
    static let rows: [StatusRow] = [
        .rejected(.says(400, "FeatureNotEnabled"), "feature-not-enabled"),
        .rejected(.says(400, "MissingChannelId"), "missing-channel-id"),
        .gone(.says(400, "BadChannelId"), "bad-channel-id"),
        .rejected(.says(400, "BadChannelId"), "bad-channel-id", isProven: false),
        .gone(.says(400, "ChannelNotRegistered"), "channel-not-registered"),
        .rejected(.says(400, "ChannelNotRegistered"), "channel-not-registered", isProven: false),
        .rejected(.says(400, "BadRequestParams"), "bad-request-params"),
        .rejected(.says(400, "BadRequestPayload"), "bad-request-payload"),
        .reducedInVain(.says(400, "PayloadEmpty"), "payload-empty"),
        .rejected(.says(400, "BadMessageId"), "bad-message-id"),
        .rejected(.says(400, "MissingPushType"), "missing-push-type"),
        .rejected(.says(400, "InvalidPushType"), "invalid-push-type"),
        .rejected(.says(400, "CannotCreateChannelConfig"), "cannot-create-channel-config"),
        .rejected(.says(400, "BadExpirationDate"), "bad-expiration-date"),
        .rejected(.says(400, "TopicDisallowed"), "topic-disallowed"),
        .rejected(.says(400, "BadPriority"), "bad-priority"),
        .misconfigured(.says(403, "BadCertificate"), "bad-certificate"),
        .misconfigured(.says(403, "BadCertificateEnvironment"), "bad-certificate-environment"),
        .rejected(.says(403, "TopicMismatch"), "topic-mismatch"),
        .misconfigured(.says(403, "MissingProviderToken"), "missing-provider-token"),
        .misconfigured(.expiredProviderToken, "expired-provider-token"),
        .misconfigured(.says(403, "InvalidProviderToken"), "invalid-provider-token"),
        .rejected(.says(404, "BadPath"), "bad-path"),
        .rejected(.says(405, "MethodNotAllowed"), "method-not-allowed"),
        .reducedInVain(.says(413, "PayloadTooLarge"), "payload-too-large"),
        .retry(.says(429, "TooManyRequests"), "too-many-requests"),
        .retry(.says(429, "TooManyProviderTokenUpdates"), "too-many-provider-token-updates", holdsUp: .queue),
        .retry(.says(500, "InternalServerError"), "internal-server-error"),
        .retry(.says(503, "ServiceUnavailable"), "service-unavailable"),
        .retry(.html(status: 502), "server-error"),
    ]

    @Test(arguments: rows)
    func everyReason(_ row: StatusRow) async throws {
        try await Broadcasts.with { try await row.check(with: $0) }
    }
}
