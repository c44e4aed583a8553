import Core
internal import PluginKit

/// A response of a push service and its decision: RFC 8030, refined by the details that Apple, Mozilla, Google and
/// Microsoft add to the status.
struct WebPushAnswer {
    enum Decision: Hashable {
        case outcome(Outcome)
        /// The subscription uses another key than the one that signed.
        case keyMismatch
        /// The push service refuses our token. `isCertain`: the cause is certainly the token and not the subscription.
        case tokenRefused(reason: String, isCertain: Bool)
    }

    /// Apple uses 400, Mozilla 401, Google and Microsoft 403.
    private static let statusesOfMismatch: Set<UInt32> = [400, 401, 403]

    private let answer: PushServiceAnswer
    private let service: PushService
    private let detail: WebPushDetail?
    /// Microsoft's explanation of an undelivered message, printable; nil without one.
    let explanation: String?

    init(_ response: borrowing HTTPResponse, of service: PushService, now: Timestamp) {
        answer = PushServiceAnswer(response, now: now)
        self.service = service
        detail = WebPushDetail(response, of: service)
        // From Microsoft's hosts only: a user's own server must not write into the log.
        let text = service == .windows ? response.header("x-wns-error-description")?.string : nil
        explanation = text.map { text in
            let shown = text.unicodeScalars.prefix(200).filter { (0x20...0x7E).contains($0.value) }
            return String(String.UnicodeScalarView(shown))
        }
    }

    var status: UInt32 { answer.status }

    var decision: Decision {
        switch (answer.status, detail) {
        case (let status, .keyMismatch) where Self.statusesOfMismatch.contains(status): .keyMismatch
        case (401, .badVAPID): .tokenRefused(reason: WebPushDetail.badVAPID.rawValue, isCertain: false)
        case (401, nil) where service == .google: .tokenRefused(reason: "unauthorized", isCertain: false)
        case (401, .badJWTToken?):
            .tokenRefused(reason: WebPushDetail.badJWTToken.rawValue, isCertain: false)
        case (403, .badAuthorizationHeader?), (403, .badJWTToken?), (403, .badVAPIDPublicKey?):
            .tokenRefused(reason: detail?.rawValue ?? "forbidden", isCertain: service == .apple || service == .google)
        default: .outcome(outcome)
        }
    }

    /// Returns an outcome with the response's status.
    func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        answer.outcome(kind, reason, scope)
    }

    private var outcome: Outcome {
        switch (answer.status, detail) {
        // Microsoft's limit for one subscription.
        case (200...299, .dropped), (200...299, .throttled): return answer.outcome(.retry, reason, .device)
        case (406, .throttled): return answer.outcome(.retry, reason, .host)
        // "Too many requests for the same device token": anyone can cause that for their own device.
        case (429, .tooManyRequests) where service == .apple: return answer.outcome(.retry, reason, .device)
        case (400, .idleTimeout): return answer.outcome(.retry, reason, .device)
        case (404, .badPath): return answer.outcome(.rejected, reason)
        // Any other 404 may be a proxy's: with the reason "not-found" the router asks again later.
        case (404, .unregistered): return answer.outcome(.gone, reason)
        case (503, .immediateRetry):
            var outcome = answer.outcome(.retry, reason, .device)
            // The response asks for a delay of two minutes nevertheless.
            outcome.retryAfter = .zero
            return outcome
        case (502, .bridgeError): return answer.outcome(.retry, reason, .device)
        case (0, _), (200...299, _), (404, _), (410, _), (413, _), (500..., _): return answer.outcome
        default:
            var outcome = answer.outcome
            outcome.reason = detail?.rawValue ?? outcome.reason
            return outcome
        }
    }

    private var reason: String { detail?.rawValue ?? "other" }
}

/// A detail that a push service adds to the status, if it matters for the outcome or to the operator. The raw value is
/// the outcome's reason.
enum WebPushDetail: String, CaseIterable {
    case badTTL = "bad-ttl"
    case badUrgency = "bad-urgency"
    case badTopic = "bad-topic"
    case badRequest = "bad-web-push-request"
    case badPath = "bad-path"
    case badMethod = "bad-method"
    /// The push service itself does not know the subscription.
    case unregistered
    /// The subscription uses another key than ours. A retry does not help.
    case keyMismatch = "vapid-key-mismatch"
    case badAuthorizationHeader = "bad-authorization-header"
    case badJWTToken = "bad-jwt-token"
    case badVAPIDPublicKey = "bad-vapid-public-key"
    /// Mozilla's code for all other VAPID errors.
    case badVAPID = "bad-vapid"
    case idleTimeout = "idle-timeout"
    case tooManyRequests = "too-many-requests"
    /// Mozilla cannot forward messages to this kind of subscription.
    case badRouterType = "bad-router-type"
    /// Mozilla: the message may be sent again immediately.
    case immediateRetry = "retry-at-once"
    /// Mozilla forwards messages for mobile browsers to Google and Apple, and that failed.
    case bridgeError = "bridge-error"
    /// Microsoft accepted the message and dropped it.
    case dropped
    /// Microsoft: too many messages for this subscription, or from us.
    case throttled

    /// Returns nil if the response contains only a status.
    init?(_ response: borrowing HTTPResponse, of service: PushService) {
        let isRefusal = response.status >= 300
        let isOurs = { (candidate: PushService) in service == candidate || service == .other }
        if isOurs(.windows), let detail = WebPushDetail(windows: response, of: service) {
            self = detail
        } else if isRefusal, isOurs(.google), let detail = WebPushDetail(google: response) {
            self = detail
        } else if isRefusal, service != .google, service != .windows, let detail = WebPushDetail(json: response) {
            self = detail
        } else {
            return nil
        }
    }

    /// Microsoft, "Push notification service request and response headers".
    private init?(windows response: borrowing HTTPResponse, of service: PushService) {
        let word = response.header("x-wns-notificationstatus")?.string.lowercased()
        switch (response.status, word) {
        case (200...299, "dropped"): self = .dropped
        case (200...299, "channelthrottled"): self = .throttled
        case (406, _?): self = .throttled
        case (406, nil) where service == .windows: self = .throttled
        // "Not authorized to send a notification to this URI even though they are authenticated."
        case (403, _) where service == .windows: self = .keyMismatch
        case (404, _) where Self.isWindows(response): self = .unregistered
        case (401, _) where service == .windows: self = .badJWTToken
        default: return nil
        }
    }

    /// Whether a response has one of the headers that Microsoft adds to all of its responses.
    private static func isWindows(_ response: borrowing HTTPResponse) -> Bool {
        response.header("x-wns-msg-id") != nil || response.header("x-wns-status") != nil
            || response.header("x-wns-notificationstatus") != nil || response.header("x-wns-error-description") != nil
    }

    /// Parses Google's sentences: `permission denied: invalid JWT provided` for a wrong clock or token, and `the VAPID
    /// credentials in the authorization header do not correspond to the credentials used to create the subscriptions`
    /// for a subscription with another key. Nil for all other sentences: they must not make a device gone.
    private init?(google response: borrowing HTTPResponse) {
        let sentence = response.body.string.lowercased()
        switch response.status {
        case 403 where sentence.contains("not correspond to the"): self = .keyMismatch
        case 400 where sentence.contains("unauthorizedregistration"): self = .keyMismatch
        case 403 where sentence.contains("invalid jwt"): self = .badJWTToken
        case 404 where sentence.contains("notregistered"): self = .unregistered
        default: return nil
        }
    }

    /// Reads Apple's `{"reason":"BadJwtToken"}` and Mozilla's `{"code":401,"errno":109,…}`.
    private init?(json response: borrowing HTTPResponse) {
        guard let object = try? response.body.jsonObject() else { return nil }
        if let reason = object["reason"]?.string {
            self.init(apple: reason)
        } else if let number = object["errno"]?.integer {
            self.init(mozilla: number, object["message"]?.string ?? "")
        } else {
            return nil
        }
    }

    /// "Sending web push notifications in web apps and browsers".
    private init?(apple reason: String) {
        switch reason {
        case "BadTtl": self = .badTTL
        case "BadUrgency": self = .badUrgency
        case "BadWebPushTopic": self = .badTopic
        case "BadWebPushRequest": self = .badRequest
        case "BadPath": self = .badPath
        case "MethodNotAllowed": self = .badMethod
        case "VapidPkHashMismatch": self = .keyMismatch
        case "BadAuthorizationHeader": self = .badAuthorizationHeader
        case "BadJwtToken": self = .badJWTToken
        case "BadVapidPublicKey": self = .badVAPIDPublicKey
        case "IdleTimeout": self = .idleTimeout
        case "TooManyRequests": self = .tooManyRequests
        default: return nil
        }
    }

    /// Mozilla's autopush, "Error Codes".
    private init?(mozilla number: Int64, _ message: String) {
        switch number {
        case 101, 110: self = .badRequest
        case 102: self = .unregistered
        case 108: self = .badRouterType
        case 109: self = message.lowercased().contains("key mismatch") ? .keyMismatch : .badVAPID
        case 111, 112, 114: self = .badTTL
        case 113: self = .badTopic
        case 202: self = .immediateRetry
        case 900...903: self = .bridgeError
        default: return nil
        }
    }
}
