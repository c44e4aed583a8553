import CarillonLab
import Testing

@testable import FCMTransport

/// FCM's “ErrorCode” table of the HTTP v1 API, row by row.
@Suite(.stage(FCM()))
struct FCMStatusTests {
    private static let notAToken = googleRefusal(
        "INVALID_ARGUMENT",
        "The registration token is not a valid FCM registration token",
        errorCode: "INVALID_ARGUMENT"
    )
    private static let badField = googleRefusal(
        "INVALID_ARGUMENT",
        "Request contains an invalid argument.",
        errorCode: "INVALID_ARGUMENT",
        violation: "message.android.ttl"
    )
    private static let tooBig = googleRefusal(
        "INVALID_ARGUMENT",
        "Android message is too big",
        errorCode: "INVALID_ARGUMENT"
    )
    private static let unspecified = googleRefusal("UNKNOWN", "Unknown error.", errorCode: "UNSPECIFIED_ERROR")

    private static let apnsAuthError = googleRefusal(
        "UNAUTHENTICATED",
        "Auth error from APNS or Web Push Service",
        errorCode: "APNS_AUTH_ERROR"
    )

    private static let codes: [StatusRow] = [
        .rejected(.says(400, body: unspecified), "invalid-argument"),
        .retry(.says(500, body: unspecified), "server-error"),
        .gone(.says(400, body: notAToken), "invalid-token"),
        .rejected(.says(400, body: badField), "invalid-argument"),
        .reduced(.says(400, body: tooBig), "payload-too-large"),
        .rejected(.says(400, "INVALID_ARGUMENT"), "invalid-argument"),
        .gone(.says(404, "UNREGISTERED"), "unregistered"),
        .gone(.says(403, "SENDER_ID_MISMATCH"), "sender-id-mismatch"),
        .retry(.says(403, "SENDER_ID_MISMATCH"), "sender-id-mismatch", isProven: false),
        .retry(.says(429, "QUOTA_EXCEEDED"), "quota-exceeded", wait: .seconds(60), holdsUp: .queue),
        .retry(.says(429, "QUOTA_EXCEEDED", retryAfter: 90), "quota-exceeded", wait: .seconds(90), holdsUp: .queue),
        .retry(.says(503, "UNAVAILABLE"), "unavailable", wait: .seconds(0)),
        .retry(.says(503, "UNAVAILABLE", retryAfter: 20), "unavailable", wait: .seconds(20)),
        .retry(.says(500, "INTERNAL"), "internal", wait: .seconds(0)),
        .rejected(.says(401, "THIRD_PARTY_AUTH_ERROR"), "third-party-auth-error"),
        .rejected(.says(401, body: apnsAuthError), "third-party-auth-error"),
    ]

    /// Google's canonical status decides where there is no FcmError, then that of HTTP.
    private static let withoutCode: [StatusRow] = [
        .delivered(.says(401, "UNAUTHENTICATED"), requests: 2),
        .misconfigured(.says(401, "UNAUTHENTICATED"), times: 2, "unauthenticated", requests: 3),
        .delivered(.html(status: 401), requests: 2),
        .misconfigured(.says(403, "PERMISSION_DENIED"), "permission-denied"),
        .misconfigured(.html(status: 403), "permission-denied"),
        .misconfigured(.says(404, "NOT_FOUND"), "project-not-found"),
        .misconfigured(.html(status: 404), "project-not-found"),
        .rejected(.says(400, body: ""), "invalid-argument"),
        .rejected(.html(status: 400), "invalid-argument"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 408), "timeout"),
        .retry(.html(status: 429), "quota-exceeded", wait: .seconds(60), holdsUp: .queue),
        .retry(.says(429, "RESOURCE_EXHAUSTED"), "quota-exceeded", wait: .seconds(60), holdsUp: .queue),
        .retry(.says(500, body: "{"), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error"),
        .rejected(.html(status: 302), "redirect"),
    ]

    @Test(arguments: codes)
    func everyErrorCode(_ row: StatusRow) async throws { try await row.check(with: FCM()) }

    @Test(arguments: withoutCode)
    func answersWithoutAnErrorCode(_ row: StatusRow) async throws { try await row.check(with: FCM()) }

    @Test func everyErrorCodeHasARow() {
        let said = Self.codes.map { "\($0.says)" }.joined(separator: "\n")
        for code in FCMErrorCode.allCases { #expect(said.contains(code.rawValue), "\(code)") }
    }
}
