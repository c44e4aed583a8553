import PluginKit
import WebPushMessage

/// What a browser's push service answered, and what follows from it: what RFC 8030 says, refined by what Apple, Mozilla,
/// Google and Microsoft say beside the status.
struct WebPushAnswer {
    private static let google: Set<String> = ["fcm.googleapis.com", "android.googleapis.com"]

    private let answer: PushServiceAnswer
    private let detail: WebPushDetail?
    /// `X-WNS-NotificationStatus`: what became of a message that Microsoft took.
    private let windowsStatus: String?

    /// `host` is the endpoint's, in lower case; `now` is in milliseconds since 1970.
    init(_ response: borrowing HTTPResponse, host: Substring, now: Int64) {
        answer = PushServiceAnswer(response, now: now)
        let isGoogle = Self.google.contains(String(host))
        detail =
            switch response.status {
            case 200...299: nil
            case 403 where isGoogle: WebPushDetail(google: response.body)
            default: WebPushDetail(response.body)
            }
        windowsStatus = response.header("x-wns-notificationstatus").map { $0.string.lowercased() }
    }

    var isAccepted: Bool { answer.outcome.kind == .delivered }

    /// The push service says that our token or key is bad, which is for the operator to look at.
    var refusesOurToken: Bool {
        switch (answer.status, detail) {
        case (_, .badAuthorizationHeader), (_, .badJWTToken), (_, .badVAPIDPublicKey), (401, .badVAPID): true
        default: false
        }
    }

    /// The subscription was made with another key than ours, which time does not heal.
    private var isOfAnotherKey: Bool {
        switch (answer.status, detail) {
        case (400, .vapidPkHashMismatch), (403, .vapidPkHashMismatch): true
        default: false
        }
    }

    /// `isKeyProven`: whether this origin took a message signed with our key. Only then a subscription of another key is
    /// dead; else the key may be the wrong one, which must not cost the devices.
    func outcome(isKeyProven: Bool) -> Outcome {
        if isOfAnotherKey {
            return answer.outcome(isKeyProven ? .gone : .rejected, "vapid-key-mismatch")
        }
        switch (answer.status, detail, windowsStatus) {
        case (200...299, _, "dropped"), (200...299, _, "channelthrottled"):
            return answer.outcome(.retry, windowsStatus == "dropped" ? "dropped" : "throttled")
        case (406, _, .some): return answer.outcome(.retry, "throttled")
        case (400, .idleTimeout, _): return answer.outcome(.retry, "idle-timeout")
        case (404, .badPath, _): return answer.outcome(.rejected, "bad-path")
        case (0, _, _), (200...299, _, _): return answer.outcome
        default:
            let usual = answer.outcome
            return answer.outcome(usual.kind, detail?.rawValue ?? usual.reason)
        }
    }
}
