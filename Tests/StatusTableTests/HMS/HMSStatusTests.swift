import CarillonLab
import Testing

@testable import HMSTransport

/// The response codes of Push Kit's REST API, row by row.
@Suite(.stage(HMS()))
struct HMSStatusTests {
    /// As Push Kit says it, whose refusals may come with status 200.
    private static func says(_ code: String, _ status: Int = 200, message: String = "") -> Misbehaviour.Conduct {
        .says(status, body: #"{"code":"\#(code)","msg":"\#(message)","requestId":"1"}"#)
    }

    private static let noneTaken = #"{\"success\":0,\"failure\":1,\"illegal_tokens\":[\"x\"]}"#
    private static let oneTaken = #"{\"success\":1,\"failure\":0,\"illegal_tokens\":[]}"#

    private static let codes: [StatusRow] = [
        .delivered(says("80000000")),
        .delivered(says("80100000", message: oneTaken)),
        .gone(says("80100000", message: noneTaken), "invalid-token"),
        .rejected(says("80100001", 400), "bad-parameters"),
        .rejected(says("80100002", 400), "token-count"),
        .rejected(says("80100003", 400), "bad-message"),
        .rejected(says("80100004"), "expired"),
        .rejected(says("80100013"), "bad-collapse-key"),
        .rejected(says("80100016"), "sensitive-content"),
        .retry(says("80100017"), "too-many-tasks", holdsUp: .queue),
        .rejected(says("80100018"), "not-verified"),
        .delivered(says("80200001", 401), requests: 2),
        .delivered(says("80200003"), requests: 2),
        .misconfigured(says("80200003", 401), times: 2, "unauthenticated", requests: 3),
        .rejected(says("80300002", 400), "forbidden"),
        .retry(says("80300002", 400), "forbidden", isProven: false),
        .gone(says("80300007"), "invalid-token"),
        .retry(says("80300007"), "invalid-token", isProven: false),
        .reduced(says("80300008", 400), "payload-too-large"),
        .rejected(says("80300010", 400), "token-count"),
        .rejected(says("80300011", 400), "importance-forbidden"),
        .rejected(says("80300013", 400), "bad-receipt-address"),
        .retry(says("80600003", 500), "authorization-unavailable", holdsUp: .queue),
        .retry(says("81000001", 500), "internal"),
    ]

    /// The HTTP status decides where there is no code that we know.
    private static let withoutCode: [StatusRow] = [
        .rejected(says("80999999"), "other"),
        .retry(.html(status: 200), "unreadable"),
        .rejected(.html(status: 302), "redirect"),
        .rejected(.html(status: 400), "bad-request"),
        .delivered(.html(status: 401), requests: 2),
        .rejected(.html(status: 403), "other"),
        .misconfigured(.html(status: 404), "app-not-found"),
        .retry(.html(status: 408), "timeout"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 429), "too-many-requests", holdsUp: .queue),
        .retry(.html(status: 500), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "flow-control", holdsUp: .queue),
        .retry(.says(503, retryAfter: 20), "flow-control", wait: .seconds(20), holdsUp: .queue),
    ]

    @Test(arguments: codes)
    func everyCode(_ row: StatusRow) async throws { try await row.check(with: HMS()) }

    @Test(arguments: withoutCode)
    func answersWithoutACode(_ row: StatusRow) async throws { try await row.check(with: HMS()) }

    @Test func everyCodeHasARow() {
        let said = Self.codes.map { "\($0.says)" }.joined(separator: "\n")
        for code in HMSCode.allCases { #expect(said.contains(code.rawValue), "\(code)") }
    }
}
