/// An error in the form of Mozilla's autopush:
/// `{"code":401,"errno":109,"error":"Unauthorized","message":"…","more_info":"…"}`.
struct MozillaError {
    private static let information =
        "http://autopush.readthedocs.io/en/latest/http.html#error-codes"

    let status: Int
    let errno: Int
    let message: String

    init(_ kind: WebPushRejection.Kind) {
        switch kind {
        case .badPath, .unknownSubscription: self.init(404, 102)
        case .goneSubscription: self.init(410, 106)
        case .badMethod: self.init(405, 999, "Method not allowed")
        case .missingAuthorization: self.init(401, 109, "Missing VAPID authentication")
        case .badAuthorization, .badPublicKey, .badToken: self.init(401, 109, "Invalid VAPID authentication")
        case .keyMismatch: self.init(401, 109, "VAPID public key mismatch")
        case .missingTTL: self.init(400, 111)
        case .badTTL: self.init(400, 112)
        case .badTopic: self.init(400, 113)
        case .badUrgency, .badEncryption: self.init(400, 110)
        case .tooLarge: self.init(413, 104)
        }
    }

    private init(_ status: Int, _ errno: Int, _ message: String? = nil) {
        self.status = status
        self.errno = errno
        self.message = message ?? Self.meaning(of: errno)
    }

    /// The error that a misbehaviour orders. Its reason is the errno.
    static func ordered(_ answer: OrderedAnswer) -> MozillaError {
        let errno = answer.reason.flatMap { Int($0) } ?? usual(for: answer.status)
        return MozillaError(answer.status, errno, answer.message)
    }

    private static func usual(for status: Int) -> Int {
        switch status {
        case 400: 110
        case 401: 109
        case 404: 102
        case 410: 106
        case 413: 104
        case 502: 901
        case 503: 201
        default: 999
        }
    }

    private static func meaning(of errno: Int) -> String {
        switch errno {
        case 101: "Missing necessary crypto keys"
        case 102: "Invalid endpoint"
        case 103, 105: "Expired or invalid endpoint"
        case 104: "Data payload too large"
        case 106: "No such subscription"
        case 108: "Router type is invalid"
        case 109: "Invalid authentication"
        case 110: "Invalid crypto keys specified"
        case 111: "Missing TTL header"
        case 112, 114: "Invalid TTL header value"
        case 113: "Invalid Topic header value"
        case 201: "Use exponential back-off for retries"
        case 202: "Immediate retry ok"
        case 900...903: "Bridge communication error"
        default: "Unknown error"
        }
    }

    private var name: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Payload Too Large"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }

    var refusal: WebPushRefusal {
        let body = JSONValue.object([
            "code": .integer(Int64(status)), "errno": .integer(Int64(errno)), "error": .string(name),
            "message": .string(message), "more_info": .string(Self.information),
        ])
        var answer = HTTPAnswer(status: status, json: body.compact)
        if status == 410 {
            answer.headers.append(LabHeader("cache-control", "max-age=86400"))
        }
        if status == 503 {
            answer.headers.append(LabHeader("retry-after", "120"))
        }
        return WebPushRefusal(mozilla: answer, errno: errno)
    }
}
