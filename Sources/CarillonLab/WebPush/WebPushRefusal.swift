/// A refusal in the form of one of the services.
struct WebPushRefusal {
    let answer: HTTPAnswer
    /// The reason in the service's words: Apple's reason, Mozilla's errno, WNS' description, FCM's sentence; nil if
    /// there is none.
    let reason: String?

    init(_ fault: WebPushRejection, from flavour: WebPushFlavour) {
        switch flavour {
        case .apple: self = Self.apple(fault.kind)
        case .mozilla: self = MozillaError(fault.kind).refusal
        case .wns: self = Self.wns(fault.kind)
        case .fcm: self = Self.fcm(fault.kind)
        case .plain: self.init(HTTPAnswer(status: Self.status(fault.kind)), nil)
        }
    }

    /// What a misbehaviour orders.
    init(_ ordered: OrderedAnswer, from flavour: WebPushFlavour) {
        let status = ordered.status
        switch flavour {
        case .apple: self.init(apple: status, ordered.reason ?? Self.appleReason(for: status))
        case .mozilla: self = MozillaError.ordered(ordered).refusal
        case .wns: self.init(wns: status, ordered.reason ?? "The lab was told to answer this.")
        case .fcm: self.init(fcm: status, ordered.reason ?? ordered.message ?? Self.fcmSentence(for: status))
        case .plain: self.init(HTTPAnswer(status: status), nil)
        }
    }

    private init(_ answer: HTTPAnswer, _ reason: String?) {
        self.answer = answer
        self.reason = reason
    }

    private init(apple status: Int, _ reason: String?) {
        let body = reason.map { JSONValue.object(["reason": .string($0)]).compact } ?? "{}"
        self.init(HTTPAnswer(status: status, json: body), reason)
    }

    private init(wns status: Int, _ description: String) {
        let headers = [
            LabHeader("x-wns-status", "dropped"), LabHeader("x-wns-notificationstatus", "dropped"),
            LabHeader("x-wns-error-description", description),
        ]
        self.init(HTTPAnswer(status: status, headers: headers), description)
    }

    private init(fcm status: Int, _ sentence: String) {
        let body = Array((sentence + "\n").utf8)
        self.init(HTTPAnswer(status: status, contentType: "text/plain; charset=utf-8", body), sentence)
    }

    init(mozilla answer: HTTPAnswer, errno: Int) {
        self.init(answer, String(errno))
    }

    /// The status of RFC 8030 and RFC 8292, which most services use.
    private static func status(_ kind: WebPushRejection.Kind) -> Int {
        switch kind {
        case .badPath, .unknownSubscription: 404
        case .goneSubscription: 410
        case .badMethod: 405
        case .missingAuthorization: 401
        case .badAuthorization, .badPublicKey, .badToken, .keyMismatch: 403
        case .missingTTL, .badTTL, .badUrgency, .badTopic, .badEncryption: 400
        case .tooLarge: 413
        }
    }

    private static func apple(_ kind: WebPushRejection.Kind) -> WebPushRefusal {
        switch kind {
        case .badPath: WebPushRefusal(apple: 404, "BadPath")
        case .unknownSubscription: WebPushRefusal(apple: 404, nil)
        case .goneSubscription: WebPushRefusal(apple: 410, "ExpiredToken")
        case .badMethod: WebPushRefusal(apple: 405, "MethodNotAllowed")
        case .missingAuthorization, .badAuthorization: WebPushRefusal(apple: 403, "BadAuthorizationHeader")
        case .badPublicKey: WebPushRefusal(apple: 403, "BadVapidPublicKey")
        case .badToken: WebPushRefusal(apple: 403, "BadJwtToken")
        case .keyMismatch: WebPushRefusal(apple: 400, "VapidPkHashMismatch")
        case .missingTTL, .badTTL: WebPushRefusal(apple: 400, "BadTtl")
        case .badUrgency: WebPushRefusal(apple: 400, "BadUrgency")
        case .badTopic: WebPushRefusal(apple: 400, "BadWebPushTopic")
        case .badEncryption: WebPushRefusal(apple: 400, "BadWebPushRequest")
        case .tooLarge: WebPushRefusal(apple: 413, "PayloadTooLarge")
        }
    }

    private static func appleReason(for status: Int) -> String? {
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
    }

    private static func wns(_ kind: WebPushRejection.Kind) -> WebPushRefusal {
        let description =
            switch kind {
            case .badPath, .unknownSubscription: "The channel URI is not valid or is not recognized by WNS."
            case .goneSubscription: "The channel expired."
            case .badMethod: "Invalid method; only POST is allowed."
            case .missingAuthorization, .badAuthorization, .badPublicKey, .badToken:
                "The cloud service did not present a valid authentication ticket."
            case .keyMismatch: "The cloud service is not authorized to send a notification to this URI."
            case .missingTTL, .badTTL, .badUrgency, .badTopic, .badEncryption:
                "One or more headers were specified incorrectly or conflict with another header."
            case .tooLarge: "The notification payload exceeds the 5000 byte size limit."
            }
        let isTicket = [.badAuthorization, .badPublicKey, .badToken].contains(kind)
        return WebPushRefusal(wns: isTicket ? 401 : status(kind), description)
    }

    private static func fcm(_ kind: WebPushRejection.Kind) -> WebPushRefusal {
        let sentence: String? =
            switch kind {
            case .keyMismatch:
                "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
                    + "subscriptions."
            case .badAuthorization, .badPublicKey:
                "authorization header had invalid format. authorization header should have the following format: "
                    + "t=jwtToken; k=base64(publicApplicationServerKey)"
            case .badToken: "invalid JWT provided"
            case .missingTTL: "TTL missing"
            case .badTTL: "invalid TTL"
            default: nil
            }
        return WebPushRefusal(fcm: status(kind), sentence ?? fcmSentence(for: status(kind)))
    }

    private static func fcmSentence(for status: Int) -> String {
        switch status {
        case 400: "UnauthorizedRegistration"
        case 401: "authorization header must be specified."
        case 403: "invalid JWT provided"
        case 404: "A valid push subscription endpoint should be specified in the URL."
        case 410: "push subscription has unsubscribed or expired."
        case 413: "payload too large"
        case 429: "quota exceeded"
        default: "error \(status)"
        }
    }
}

/// Why a message is refused, independent of the service.
struct WebPushRejection: Error, Equatable {
    enum Kind {
        case badPath
        case badMethod
        case unknownSubscription
        case goneSubscription
        case missingAuthorization
        case badAuthorization
        case badPublicKey
        case badToken
        case keyMismatch
        case missingTTL
        case badTTL
        case badUrgency
        case badTopic
        case badEncryption
        case tooLarge
    }

    let kind: Kind
    /// The exact error, in a sentence for people.
    let detail: String

    init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}
