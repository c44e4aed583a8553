import PluginKit

/// What a push service says in the body of a refusal, as far as something follows from it or an operator wants to know; the
/// raw value labels an outcome.
enum WebPushDetail: String {
    case badTTL = "bad-ttl"
    case badUrgency = "bad-urgency"
    case badTopic = "bad-topic"
    case badRequest = "bad-web-push-request"
    case vapidPkHashMismatch = "vapid-key-mismatch"
    case idleTimeout = "idle-timeout"
    case badAuthorizationHeader = "bad-authorization-header"
    case badJWTToken = "bad-jwt-token"
    case badVAPIDPublicKey = "bad-vapid-public-key"
    case badPath = "bad-path"
    /// Mozilla's one word for all trouble with VAPID.
    case badVAPID = "bad-vapid"

    /// Reads Apple's `{"reason":"BadJwtToken"}` and Mozilla's `{"code":401,"errno":109,…}`; nil for what is neither, or says
    /// no more than the status.
    init?(_ body: BorrowedText) {
        guard let object = try? body.jsonObject() else { return nil }
        if let reason = object["reason"]?.string {
            self.init(apple: reason)
        } else if let number = object["errno"]?.integer {
            self.init(mozilla: number)
        } else {
            return nil
        }
    }

    /// Reads what Google says with 403, which is a sentence: `permission denied: invalid JWT provided` when the clock or the token is
    /// wrong, and `the VAPID credentials in the authorization header do not correspond to the credentials used to create the
    /// subscriptions` when the subscription is another key's. Nil for all else, of which no device must die.
    init?(google body: BorrowedText) {
        let sentence = body.string.lowercased()
        if sentence.contains("not correspond to the") {
            self = .vapidPkHashMismatch
        } else if sentence.contains("invalid jwt") {
            self = .badJWTToken
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
        case "VapidPkHashMismatch": self = .vapidPkHashMismatch
        case "IdleTimeout": self = .idleTimeout
        case "BadAuthorizationHeader": self = .badAuthorizationHeader
        case "BadJwtToken": self = .badJWTToken
        case "BadVapidPublicKey": self = .badVAPIDPublicKey
        case "BadPath": self = .badPath
        default: return nil
        }
    }

    /// Mozilla's autopush, "Error Codes".
    private init?(mozilla number: Int64) {
        switch number {
        case 101, 110: self = .badRequest
        case 109: self = .badVAPID
        case 111, 112, 114: self = .badTTL
        case 113: self = .badTopic
        default: return nil
        }
    }
}
