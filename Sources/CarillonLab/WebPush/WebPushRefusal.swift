/// A refusal in the form of Apple's Web Push service: `{"reason":"BadJwtToken"}`.
struct WebPushRefusal: Error, Equatable {
    let status: Int
    /// Apple's word; nil where there is none.
    let reason: String?
    /// What exactly was wrong, in a sentence for people.
    let detail: String?

    init(_ status: Int, _ reason: String?, _ detail: String?) {
        self.status = status
        self.reason = reason
        self.detail = detail
    }

    static func badRequest(_ detail: String) -> WebPushRefusal { WebPushRefusal(400, "BadWebPushRequest", detail) }
    static func badToken(_ detail: String) -> WebPushRefusal { WebPushRefusal(403, "BadJwtToken", detail) }

    /// What Apple says with a status.
    static func usual(for status: Int) -> WebPushRefusal {
        let reason: String? =
            switch status {
            case 400: "BadWebPushRequest"
            case 403: "BadJwtToken"
            case 405: "MethodNotAllowed"
            case 410: "ExpiredToken"
            case 413: "PayloadTooLarge"
            case 429: "TooManyRequests"
            case 500: "InternalServerError"
            case 503: "ServiceUnavailable"
            default: nil
            }
        return WebPushRefusal(status, reason, nil)
    }

    static func json(reason: String?) -> String {
        reason.map { JSONValue.object(["reason": .string($0)]).compact } ?? "{}"
    }
}
