internal import PluginKit

/// What a push service says beside the status, as far as something follows from it or an operator wants to know; the raw
/// value labels an outcome.
enum WebPushDetail: String, CaseIterable {
    case badTTL = "bad-ttl"
    case badUrgency = "bad-urgency"
    case badTopic = "bad-topic"
    case badRequest = "bad-web-push-request"
    case badPath = "bad-path"
    case badMethod = "bad-method"
    /// The subscription was made with another key than ours, which time does not heal.
    case keyMismatch = "vapid-key-mismatch"
    case badAuthorizationHeader = "bad-authorization-header"
    case badJWTToken = "bad-jwt-token"
    case badVAPIDPublicKey = "bad-vapid-public-key"
    /// Mozilla's one word for all other trouble with VAPID.
    case badVAPID = "bad-vapid"
    case idleTimeout = "idle-timeout"
    case tooManyRequests = "too-many-requests"
    /// Mozilla cannot hand this kind of subscription's messages on.
    case badRouterType = "bad-router-type"
    /// Mozilla: it may be tried again at once.
    case immediateRetry = "retry-at-once"
    /// Mozilla hands the messages of mobile browsers to Google and Apple, and that failed.
    case bridgeTrouble = "bridge-error"
    /// Microsoft took it and threw it away.
    case dropped
    /// Microsoft: too many messages for this subscription, or from us.
    case throttled

    /// Nil when nothing more is said than the status.
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
        case (401, _) where service == .windows: self = .badJWTToken
        default: return nil
        }
    }

    /// Google answers with a sentence: `permission denied: invalid JWT provided` when the clock or the token is wrong, and `the
    /// VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions`
    /// when the subscription is another key's. Nil for all else, of which no device must die.
    private init?(google response: borrowing HTTPResponse) {
        let sentence = response.body.string.lowercased()
        switch response.status {
        case 403 where sentence.contains("not correspond to the"): self = .keyMismatch
        case 400 where sentence.contains("unauthorizedregistration"): self = .keyMismatch
        case 403 where sentence.contains("invalid jwt"): self = .badJWTToken
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
        case 108: self = .badRouterType
        case 109: self = message.lowercased().contains("key mismatch") ? .keyMismatch : .badVAPID
        case 111, 112, 114: self = .badTTL
        case 113: self = .badTopic
        case 202: self = .immediateRetry
        case 900...903: self = .bridgeTrouble
        default: return nil
        }
    }
}
