import CarillonLab
import Testing

@testable import WebPushMessage

/// RFC 8030 and RFC 8292, row by row, and the additional responses of browsers' push services, each in its own form.
struct WebPushStatusTests {
    /// RFC 8030, and proxies in front of any push service.
    private static let plain: [StatusRow] = [
        .delivered(.says(200)),
        .delivered(.says(201)),
        .delivered(.says(202)),
        .rejected(.html(status: 301), "redirect"),
        .rejected(.html(status: 308), "redirect"),
        .rejected(.html(status: 400), "other"),
        .rejected(.html(status: 401), "unauthorized"),
        .rejected(.html(status: 403), "forbidden"),
        .retry(.html(status: 404), "not-found"),
        .rejected(.html(status: 405), "other"),
        .retry(.html(status: 408), "timeout"),
        .gone(.html(status: 410), "gone"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 429), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.says(429, retryAfter: 33), "too-many-requests", wait: .seconds(33), holdsUp: .host),
        .retry(.html(status: 500), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error", wait: .seconds(5), holdsUp: .host),
    ]

    private static let apple: [StatusRow] = [
        .rejected(.apple(400, "BadTtl"), "bad-ttl"),
        .rejected(.apple(400, "BadUrgency"), "bad-urgency"),
        .rejected(.apple(400, "BadWebPushRequest"), "bad-web-push-request"),
        .rejected(.apple(400, "BadWebPushTopic"), "bad-topic"),
        .gone(.apple(400, "VapidPkHashMismatch"), "vapid-key-mismatch"),
        .rejected(.apple(400, "VapidPkHashMismatch"), "vapid-key-mismatch", isProven: false),
        .retry(.apple(400, "IdleTimeout"), "idle-timeout"),
        .retry(.apple(403, "BadAuthorizationHeader"), "bad-authorization-header"),
        .retry(.apple(403, "BadJwtToken"), "bad-jwt-token"),
        .retry(.apple(403, "BadVapidPublicKey"), "bad-vapid-public-key"),
        .retry(.apple(403, "BadAuthorizationHeader"), "bad-authorization-header", holdsUp: .host, isProven: false),
        .retry(.apple(403, "BadJwtToken"), "bad-jwt-token", holdsUp: .host, isProven: false),
        .retry(.apple(403, "BadVapidPublicKey"), "bad-vapid-public-key", holdsUp: .host, isProven: false),
        .rejected(.apple(404, "BadPath"), "bad-path"),
        .rejected(.apple(405, "MethodNotAllowed"), "bad-method"),
        .gone(.apple(410, "ExpiredToken"), "gone"),
        .reduced(.apple(413, "PayloadTooLarge"), "payload-too-large"),
        .retry(.apple(429, "TooManyRequests"), "too-many-requests"),
        .retry(.apple(500, "InternalServerError"), "server-error"),
        .retry(.apple(503, "ServiceUnavailable"), "server-error", wait: .seconds(5), holdsUp: .host),
        .retry(.apple(503, "Shutdown"), "server-error", wait: .seconds(5), holdsUp: .host),
    ]

    private static let mozilla: [StatusRow] = [
        .rejected(.mozilla(400, 101), "bad-web-push-request"),
        .gone(.mozilla(404, 102), "unregistered"),
        .gone(.mozilla(410, 103), "gone"),
        .reduced(.mozilla(413, 104), "payload-too-large"),
        .gone(.mozilla(410, 105), "gone"),
        .gone(.mozilla(410, 106), "gone"),
        .rejected(.mozilla(400, 108), "bad-router-type"),
        .rejected(.mozilla(401, 109), "bad-vapid"),
        .gone(.mozilla(401, 109, "VAPID public key mismatch"), "vapid-key-mismatch"),
        .rejected(.mozilla(401, 109, "VAPID public key mismatch"), "vapid-key-mismatch", isProven: false),
        .rejected(.mozilla(400, 110), "bad-web-push-request"),
        .rejected(.mozilla(400, 111), "bad-ttl"),
        .rejected(.mozilla(400, 112), "bad-ttl"),
        .rejected(.mozilla(400, 113), "bad-topic"),
        .rejected(.mozilla(400, 114), "bad-ttl"),
        .retry(.mozilla(503, 201, retryAfter: 120), "server-error", wait: .seconds(120), holdsUp: .host),
        .retry(.mozilla(503, 202, retryAfter: 120), "retry-at-once", wait: .seconds(0)),
        .retry(.mozilla(502, 900), "bridge-error"),
        .retry(.mozilla(502, 901), "bridge-error"),
        .retry(.mozilla(502, 902), "bridge-error"),
        .retry(.mozilla(502, 903), "bridge-error"),
        .retry(.mozilla(500, 999), "server-error"),
    ]

    private static let otherKey =
        "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
        + "subscriptions."

    private static let badToken = "permission denied: invalid JWT provided"

    private static let google: [StatusRow] = [
        .rejected(.says(401, body: "missing VAPID"), "unauthorized"),
        .gone(.says(403, body: otherKey), "vapid-key-mismatch"),
        .rejected(.says(403, body: otherKey), "vapid-key-mismatch", isProven: false),
        .retry(.says(403, body: badToken), "bad-jwt-token"),
        .retry(.says(403, body: badToken), "bad-jwt-token", holdsUp: .host, isProven: false),
        .gone(.says(400, body: "UnauthorizedRegistration"), "vapid-key-mismatch"),
        .rejected(.says(400, body: "UnauthorizedRegistration"), "vapid-key-mismatch", isProven: false),
        .gone(.says(404, body: "NotRegistered"), "unregistered"),
        .gone(.says(410, body: "NotRegistered"), "gone"),
        .reduced(.says(413, body: "too large"), "payload-too-large"),
        .retry(.says(429, body: ""), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.says(500, body: ""), "server-error"),
    ]

    private static let windows: [StatusRow] = [
        .delivered(.windows(200, "received")),
        .delivered(.windows(201, "received")),
        .retry(.windows(200, "dropped"), "dropped"),
        .retry(.windows(200, "channelthrottled"), "throttled"),
        .rejected(.windows(400), "other"),
        .rejected(.windows(401), "bad-jwt-token"),
        .gone(.windows(403), "vapid-key-mismatch"),
        .rejected(.windows(403), "vapid-key-mismatch", isProven: false),
        .gone(.windows(404, "dropped"), "unregistered"),
        .rejected(.windows(405), "other"),
        .retry(.windows(406), "throttled", wait: .seconds(5), holdsUp: .host),
        .retry(.windows(406, "channelthrottled"), "throttled", wait: .seconds(5), holdsUp: .host),
        .gone(.windows(410), "gone"),
        .reduced(.windows(413), "payload-too-large"),
        .retry(.windows(500), "server-error"),
        .retry(.windows(503), "server-error", wait: .seconds(5), holdsUp: .host),
    ]

    @Test func everyDetailHasARow() {
        let rows = Self.plain + Self.apple + Self.mozilla + Self.google + Self.windows
        #expect(Set(WebPushDetail.allCases.map(\.rawValue)).isSubset(of: Set(rows.map(\.reason))))
    }
}

extension WebPushStatusTests {
    @Suite(.stage(WebPush(flavour: .plain)))
    struct AnyPushService {
        @Test(arguments: plain)
        func everyStatus(_ row: StatusRow) async throws { try await row.check(with: WebPush(flavour: .plain)) }
    }

    @Suite(.stage(WebPush(flavour: .apple)))
    struct Apple {
        @Test(arguments: apple)
        func everyReason(_ row: StatusRow) async throws { try await row.check(with: WebPush(flavour: .apple)) }
    }

    @Suite(.stage(WebPush(flavour: .mozilla)))
    struct Mozilla {
        @Test(arguments: mozilla)
        func everyErrorNumber(_ row: StatusRow) async throws { try await row.check(with: WebPush(flavour: .mozilla)) }
    }

    @Suite(.stage(WebPush(flavour: .fcm)))
    struct Google {
        @Test(arguments: google)
        func everySentence(_ row: StatusRow) async throws { try await row.check(with: WebPush(flavour: .fcm)) }
    }

    @Suite(.stage(WebPush(flavour: .wns)))
    struct Windows {
        @Test(arguments: windows)
        func everyStatus(_ row: StatusRow) async throws { try await row.check(with: WebPush(flavour: .wns)) }
    }
}

extension ScriptedBehavior.Action {
    fileprivate static func apple(_ status: Int, _ reason: String) -> Self {
        .says(status, body: #"{"reason":"\#(reason)"}"#)
    }

    fileprivate static func mozilla(
        _ status: Int,
        _ number: Int,
        _ message: String = "",
        retryAfter: Int? = nil
    ) -> Self {
        .says(
            status,
            body: #"{"code":\#(status),"errno":\#(number),"error":"Error","message":"\#(message)"}"#,
            headers: retryAfter.map { [LabHeader("retry-after", String($0))] } ?? []
        )
    }

    fileprivate static func windows(_ status: Int, _ word: String? = nil) -> Self {
        .says(status, body: "", headers: word.map { [LabHeader("x-wns-notificationstatus", $0)] } ?? [])
    }
}
