/// Why a message is refused, independent of the service.
struct WebPushError: Error, Equatable {
    enum Kind {
        case badPath, badMethod, unknownSubscription, goneSubscription, missingAuthorization, badAuthorization
        case badPublicKey, badToken, keyMismatch, missingTTL, badTTL, badUrgency, badTopic, badEncryption, tooLarge
    }

    let kind: Kind
    /// The exact error in a readable sentence.
    let detail: String

    init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}

/// The services' texts for one kind of refusal.
private struct WebPushErrorTexts {
    /// The status of RFC 8030 and RFC 8292, which most services use.
    let status: Int
    /// Apple's reason; nil if there is none.
    let apple: String?
    /// Mozilla's errno.
    let errno: Int
    /// Mozilla's message; nil: the usual one of the errno.
    let message: String?
    /// The description of WNS.
    let wns: String
    /// FCM's sentence; nil: the usual one of the status.
    let fcm: String?

    init(_ status: Int, _ apple: String?, _ errno: Int, _ message: String? = nil, wns: String, fcm: String? = nil) {
        self.status = status
        self.apple = apple
        self.errno = errno
        self.message = message
        self.wns = wns
        self.fcm = fcm
    }

    init(_ kind: WebPushError.Kind) {
        let channel = "The channel URI is not valid or is not recognized by WNS."
        let ticket = "The cloud service did not present a valid authentication ticket."
        let headers = "One or more headers were specified incorrectly or conflict with another header."
        let invalid = "Invalid VAPID authentication"
        let format =
            "authorization header had invalid format. authorization header should have the following format: "
            + "t=jwtToken; k=base64(publicApplicationServerKey)"
        switch kind {
        case .badPath: self.init(404, "BadPath", 102, wns: channel)
        case .unknownSubscription: self.init(404, nil, 102, wns: channel)
        case .goneSubscription: self.init(410, "ExpiredToken", 106, wns: "The channel expired.")
        case .badMethod:
            self.init(405, "MethodNotAllowed", 999, "Method not allowed", wns: "Invalid method; only POST is allowed.")
        case .missingAuthorization:
            self.init(401, "BadAuthorizationHeader", 109, "Missing VAPID authentication", wns: ticket)
        case .badAuthorization: self.init(403, "BadAuthorizationHeader", 109, invalid, wns: ticket, fcm: format)
        case .badPublicKey: self.init(403, "BadVapidPublicKey", 109, invalid, wns: ticket, fcm: format)
        case .badToken: self.init(403, "BadJwtToken", 109, invalid, wns: ticket, fcm: "invalid JWT provided")
        case .keyMismatch:
            self.init(
                403,
                "VapidPkHashMismatch",
                109,
                "VAPID public key mismatch",
                wns: "The cloud service is not authorized to send a notification to this URI.",
                fcm:
                    "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
                    + "subscriptions."
            )
        case .missingTTL: self.init(400, "BadTtl", 111, wns: headers, fcm: "TTL missing")
        case .badTTL: self.init(400, "BadTtl", 112, wns: headers, fcm: "invalid TTL")
        case .badUrgency: self.init(400, "BadUrgency", 110, wns: headers)
        case .badTopic: self.init(400, "BadWebPushTopic", 113, wns: headers)
        case .badEncryption: self.init(400, "BadWebPushRequest", 110, wns: headers)
        case .tooLarge:
            self.init(413, "PayloadTooLarge", 104, wns: "The notification payload exceeds the 5000 byte size limit.")
        }
    }
}

extension WebPushFlavour {
    /// The refusal in the service's format. Its reason is Apple's reason, Mozilla's errno, the description of WNS or
    /// FCM's sentence.
    func refusal(_ kind: WebPushError.Kind) -> LabReply {
        let refusal = WebPushErrorTexts(kind)
        let status = refusal.status
        return switch self {
        case .apple:
            Self.apple(kind == .missingAuthorization ? 403 : kind == .keyMismatch ? 400 : status, refusal.apple)
        case .mozilla: Self.mozilla(status == 403 ? 401 : status, refusal.errno, refusal.message)
        case .wns: Self.wns(status == 403 && kind != .keyMismatch ? 401 : status, refusal.wns)
        case .fcm: Self.fcm(status, refusal.fcm)
        case .plain: LabReply(answer: HTTPAnswer(status: status))
        }
    }

    /// The refusal that a misbehaviour orders.
    func ordered(_ ordered: OrderedAnswer) -> LabReply {
        let status = ordered.status
        switch self {
        case .apple: return Self.apple(status, ordered.reason ?? Self.appleReasons[status])
        case .mozilla:
            let errno = ordered.reason.flatMap { Int($0) } ?? Self.errnos[status] ?? 999
            return Self.mozilla(status, errno, ordered.message)
        case .wns: return Self.wns(status, ordered.reason ?? "The lab was told to answer this.")
        case .fcm: return Self.fcm(status, ordered.reason ?? ordered.message)
        case .plain: return LabReply(answer: HTTPAnswer(status: status))
        }
    }

    private static let appleReasons = [
        400: "BadWebPushRequest", 403: "BadJwtToken", 405: "MethodNotAllowed", 410: "ExpiredToken",
        413: "PayloadTooLarge", 429: "TooManyRequests", 500: "InternalServerError", 503: "ServiceUnavailable",
    ]

    private static func apple(_ status: Int, _ reason: String?) -> LabReply {
        let body = reason.map { JSONValue.object(["reason": .string($0)]).compact } ?? "{}"
        return LabReply(answer: HTTPAnswer(status: status, json: body), reason: reason)
    }

    private static func wns(_ status: Int, _ description: String) -> LabReply {
        let headers = [
            LabHeader("x-wns-status", "dropped"), LabHeader("x-wns-notificationstatus", "dropped"),
            LabHeader("x-wns-error-description", description),
        ]
        return LabReply(answer: HTTPAnswer(status: status, headers: headers), reason: description)
    }

    private static let fcmSentences = [
        400: "UnauthorizedRegistration", 401: "authorization header must be specified.", 403: "invalid JWT provided",
        404: "A valid push subscription endpoint should be specified in the URL.",
        410: "push subscription has unsubscribed or expired.", 413: "payload too large", 429: "quota exceeded",
    ]

    private static func fcm(_ status: Int, _ sentence: String?) -> LabReply {
        let sentence = sentence ?? fcmSentences[status] ?? "error \(status)"
        let body = Array((sentence + "\n").utf8)
        let answer = HTTPAnswer(status: status, contentType: "text/plain; charset=utf-8", body)
        return LabReply(answer: answer, reason: sentence)
    }

    /// The usual errno of a status.
    private static let errnos = [400: 110, 401: 109, 404: 102, 410: 106, 413: 104, 502: 901, 503: 201]

    private static let mozillaNames = [
        400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
        413: "Payload Too Large", 502: "Bad Gateway", 503: "Service Unavailable",
    ]

    private static let meanings = [
        101: "Missing necessary crypto keys", 102: "Invalid endpoint", 103: "Expired or invalid endpoint",
        104: "Data payload too large", 105: "Expired or invalid endpoint", 106: "No such subscription",
        108: "Router type is invalid", 109: "Invalid authentication", 110: "Invalid crypto keys specified",
        111: "Missing TTL header", 112: "Invalid TTL header value", 113: "Invalid Topic header value",
        114: "Invalid TTL header value", 201: "Use exponential back-off for retries", 202: "Immediate retry ok",
    ]

    /// The format of Mozilla's autopush:
    /// `{"code":401,"errno":109,"error":"Unauthorized","message":"…","more_info":"…"}`.
    private static func mozilla(_ status: Int, _ errno: Int, _ message: String?) -> LabReply {
        let usual = (900...903).contains(errno) ? "Bridge communication error" : meanings[errno] ?? "Unknown error"
        let body = JSONValue.object([
            "code": .integer(Int64(status)), "errno": .integer(Int64(errno)),
            "error": .string(mozillaNames[status] ?? "Internal Server Error"), "message": .string(message ?? usual),
            "more_info": .string("http://autopush.readthedocs.io/en/latest/http.html#error-codes"),
        ])
        var answer = HTTPAnswer(status: status, json: body.compact)
        if status == 410 {
            answer.headers.append(LabHeader("cache-control", "max-age=86400"))
        }
        if status == 503 {
            answer.headers.append(LabHeader("retry-after", "120"))
        }
        return LabReply(answer: answer, reason: String(errno))
    }
}
