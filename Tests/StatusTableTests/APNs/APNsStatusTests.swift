import CarillonLab
import Testing

@testable import APNsTransport

/// Apple's “Handling notification responses from APNs”, row by row.
@Suite(.stage(APNs()))
struct APNsStatusTests {
    private static let older = #"{"reason":"Unregistered","timestamp":1600000000000}"#
    private static let newer = #"{"reason":"Unregistered","timestamp":1800000000000}"#

    /// A provider token that is too young for a renewal, yet too old for Apple: the clocks disagree.
    private static let clocks: [StatusRow] = [
        .misconfigured(.expiredProviderToken, "expired-provider-token")
    ]

    private static let reasons: [StatusRow] = [
        .rejected(.says(400, "BadCollapseId"), "bad-collapse-id"),
        .rejected(.says(400, "BadExpirationDate"), "bad-expiration-date"),
        .rejected(.says(400, "BadMessageId"), "bad-message-id"),
        .rejected(.says(400, "BadPriority"), "bad-priority"),
        .rejected(.says(400, "DuplicateHeaders"), "duplicate-headers"),
        .rejected(.says(400, "InvalidPushType"), "invalid-push-type"),
        .rejected(.says(400, "MissingDeviceToken"), "missing-device-token"),
        .misconfigured(.says(400, "BadTopic"), "bad-topic"),
        .misconfigured(.says(400, "MissingTopic"), "missing-topic"),
        .misconfigured(.says(400, "TopicDisallowed"), "topic-disallowed"),
        .reduced(.says(400, "PayloadEmpty"), "payload-empty"),
        .gone(.says(400, "BadDeviceToken"), "bad-device-token"),
        .rejected(.says(400, "BadDeviceToken"), "bad-device-token", isProven: false),
        .gone(.says(400, "DeviceTokenNotForTopic"), "device-token-not-for-topic"),
        .rejected(.says(400, "DeviceTokenNotForTopic"), "device-token-not-for-topic", isProven: false),
        .retry(.says(400, "IdleTimeout"), "idle-timeout"),
        .misconfigured(.says(403, "BadCertificate"), "bad-certificate"),
        .misconfigured(.says(403, "BadCertificateEnvironment"), "bad-certificate-environment"),
        .misconfigured(.says(403, "InvalidProviderToken"), "invalid-provider-token"),
        .misconfigured(.says(403, "MissingProviderToken"), "missing-provider-token"),
        .misconfigured(.says(403, "Forbidden"), "forbidden"),
        .misconfigured(.says(403, "UnrelatedKeyIdInToken"), "unrelated-key-id-in-token"),
        .misconfigured(.says(403, "BadEnvironmentKeyIdInToken"), "bad-environment-key-id-in-token"),
        .misconfigured(.says(403, "BadEnvironmentKeyInToken"), "bad-environment-key-in-token"),
        .rejected(.says(404, "BadPath"), "bad-path"),
        .rejected(.says(405, "MethodNotAllowed"), "method-not-allowed"),
        .gone(.says(410, "ExpiredToken"), "expired-token"),
        .gone(.says(410, "Unregistered"), "unregistered"),
        .reduced(.says(413, "PayloadTooLarge"), "payload-too-large"),
        .retry(.says(429, "TooManyRequests"), "too-many-requests"),
        .retry(.says(429, "TooManyRequests", retryAfter: 7), "too-many-requests", wait: .seconds(7)),
        .retry(.says(429, "TooManyProviderTokenUpdates"), "too-many-provider-token-updates", holdsUp: .queue),
        .retry(.says(500, "InternalServerError"), "internal-server-error"),
        .retry(.says(503, "ServiceUnavailable"), "service-unavailable"),
        .retry(.says(503, "ServiceUnavailable", retryAfter: 30), "service-unavailable", wait: .seconds(30)),
        .retry(.says(503, "Shutdown"), "shutdown"),
    ]

    /// Bodies of proxies and overloaded servers need not be JSON: only the status decides.
    private static let withoutReason: [StatusRow] = [
        .rejected(.says(400, body: ""), "other"),
        .rejected(.html(status: 400), "other"),
        .rejected(.says(400, body: #"{"reason":"SomethingNew"}"#), "other"),
        .misconfigured(.says(403, body: ""), "other"),
        .misconfigured(.html(status: 403), "other"),
        .rejected(.html(status: 404), "other"),
        .gone(.says(410, body: ""), "unregistered"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 429), "too-many-requests"),
        .retry(.says(500, body: "{"), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error"),
        .retry(.html(status: 301), "other"),
    ]

    /// 410 contains the time at which Apple found the token invalid; the devices here registered between the two.
    private static let timestamps: [StatusRow] = [
        .rejected(.says(410, body: older), "stale-gone"),
        .gone(.says(410, body: newer), "unregistered"),
    ]

    @Test(arguments: reasons)
    func everyReason(_ row: StatusRow) async throws { try await row.check(with: APNs()) }

    @Test(arguments: clocks)
    func clocksThatDisagree(_ row: StatusRow) async throws { try await row.check(with: APNs()) }

    @Test(arguments: withoutReason)
    func answersWithoutAReason(_ row: StatusRow) async throws { try await row.check(with: APNs()) }

    @Test(arguments: timestamps)
    func timestampOf410(_ row: StatusRow) async throws { try await row.check(with: APNs()) }

    @Test func everyReasonHasARow() {
        let said = Set((Self.reasons + Self.clocks + BroadcastStatusTests.rows).compactMap(\.says.reason))
        #expect(said == Set(APNsReason.allCases.map(\.rawValue)))
    }
}

extension ScriptedBehavior.Action {
    fileprivate var reason: String? {
        if case .answer(let answer) = self { answer.reason } else { nil }
    }
}
