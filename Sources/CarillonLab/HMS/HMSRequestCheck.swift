/// Checks the requests for `messages:send` as Push Kit's reference describes them ("Downlink Message Sending").
struct HMSRequestCheck {
    /// Huawei's limit for the message without its tokens, in bytes.
    static let limit = 4_096
    private static let tokenLimit = 1_000
    private static let longestLifetime: Int64 = 1_296_000

    private static let members: Set = [
        "data", "notification", "android", "apns", "webpush", "token", "topic", "condition",
    ]
    private static let androidMembers: Set = [
        "collapse_key", "urgency", "category", "ttl", "bi_tag", "receipt_id", "fast_app_target", "data", "notification",
    ]
    private static let notificationMembers: Set = [
        "title", "body", "icon", "color", "sound", "default_sound", "tag", "click_action", "body_loc_key",
        "body_loc_args", "title_loc_key", "title_loc_args", "multi_lang_key", "channel_id", "notify_summary", "image",
        "style", "big_title", "big_body", "auto_clear", "notify_id", "group", "badge", "ticker", "when", "importance",
        "use_default_vibrate", "use_default_light", "vibrate_config", "visibility", "light_settings",
        "foreground_show", "inbox_content", "buttons", "profile_id",
    ]

    let state: HMSState

    /// Returns the tokens of a good message. `now` in milliseconds since 1970.
    func check(_ request: LabRequest, now: Int64) throws(HMSRefusal) -> String {
        guard request.method == "POST", let appID = Self.appID(request.path),
            state.applications.contains(where: { $0.appID == appID })
        else { throw .notFound("expected POST /v1/{appId}/messages:send with the id of an app") }
        let words = (request.header("authorization") ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0] == "Bearer" else {
            throw HMSRefusal(.unauthenticated, detail: "authorization is not \"Bearer\", a blank and an access token")
        }
        guard let account = state.accessTokens.account(of: String(words[1]), now: now) else {
            throw HMSRefusal(.tokenExpired, detail: "the access token is unknown, or has expired")
        }
        guard account == appID else { throw HMSRefusal(.unauthenticated, detail: "the access token is of another app") }
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        guard type == "application/json", !request.isCut, let body = JSONValue(parsing: request.body),
            let message = body["message"]?.object
        else { throw HMSRefusal(.badStructure, detail: "the body is no JSON object with a message") }
        try Self.checkContent(message)
        let token = try Self.token(message)
        try state.check(token, of: appID)
        return token
    }

    /// The token of a request; empty if it cannot be read.
    static func target(of request: LabRequest) -> String {
        JSONValue(parsing: request.body)?["message"]?["token"]?[0]?.string ?? ""
    }

    private static func appID(_ path: String) -> String? {
        path.wholeMatch(of: /\/v1\/([0-9]+)\/messages:send/).map { String($0.1) }
    }

    private static func token(_ message: [String: JSONValue]) throws(HMSRefusal) -> String {
        let tokens = message["token"]?.elements?.compactMap(\.string) ?? []
        guard (1...tokenLimit).contains(tokens.count), tokens.count == message["token"]?.elements?.count else {
            throw HMSRefusal(.tokenCount, detail: "token is no list of 1 to \(tokenLimit) texts")
        }
        return tokens[0]
    }

    private static func checkContent(_ message: [String: JSONValue]) throws(HMSRefusal) {
        try refuseOthers(message, than: members, at: "message")
        let android = message["android"]?.object ?? [:]
        try refuseOthers(android, than: androidMembers, at: "android")
        for data in [message["data"], android["data"]].compactMap(\.self) where data.string == nil {
            throw HMSRefusal(.badStructure, detail: "data is no text")
        }
        guard message["data"] != nil || android["data"] != nil || android["notification"] != nil else {
            throw HMSRefusal(.badParameters, detail: "there is neither data nor android.notification")
        }
        if let key = android["collapse_key"], !(-1...100).contains(key.integer ?? -2) {
            throw HMSRefusal(.badCollapseKey, detail: "collapse_key is no number from -1 to 100")
        }
        if let urgency = android["urgency"], !["HIGH", "NORMAL"].contains(urgency.string) {
            throw HMSRefusal(.badParameters, detail: "urgency is neither HIGH nor NORMAL")
        }
        if let ttl = android["ttl"] {
            let seconds = ttl.string?.wholeMatch(of: /(\d{1,9})(\.\d{1,9})?[sS]/).flatMap { Int64($0.1) }
            guard let seconds, (1...longestLifetime).contains(seconds) else {
                throw HMSRefusal(.badParameters, detail: "ttl is not seconds and s, at most 15 days")
            }
        }
        if let notification = android["notification"] { try checkNotification(notification.object ?? [:]) }
        var rest = message
        rest["token"] = nil
        let size = JSONValue.object(rest).compact.utf8.count
        guard size <= limit else {
            throw HMSRefusal(.tooLong, detail: "the message has \(size) bytes, at most \(limit) are allowed")
        }
    }

    private static func checkNotification(_ notification: [String: JSONValue]) throws(HMSRefusal) {
        try refuseOthers(notification, than: notificationMembers, at: "android.notification")
        guard
            notification["title"] ?? notification["title_loc_key"] ?? notification["body"]
                ?? notification["body_loc_key"] != nil
        else { throw HMSRefusal(.badParameters, detail: "the notification has no text") }
        if let importance = notification["importance"], !["LOW", "NORMAL", "HIGH"].contains(importance.string) {
            throw HMSRefusal(.badParameters, detail: "importance is none of LOW, NORMAL and HIGH")
        }
        let click = notification["click_action"]
        let isGood =
            switch click?["type"]?.integer {
            case 1: click?["intent"]?.string != nil || click?["action"]?.string != nil
            case 2: click?["url"]?.string?.hasPrefix("https://") == true
            case 3: true
            default: false
            }
        guard isGood else { throw HMSRefusal(.badParameters, detail: "click_action is missing or incomplete") }
    }

    private static func refuseOthers(
        _ members: [String: JSONValue],
        than known: Set<String>,
        at place: String
    ) throws(HMSRefusal) {
        if let name = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw HMSRefusal(.badStructure, detail: "\(place) has no member \(name)")
        }
    }
}

/// Checks a request for an access token (RFC 6749 section 4.4).
struct HMSTokenCheck {
    let applications: [HMSApplication]

    /// Returns the id of the app whose secret it has.
    func check(_ request: LabRequest) throws(OAuthRefusal) -> String {
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        let form = LabRequest.parameters(of: String(decoding: request.body, as: UTF8.self))
        guard request.method == "POST", type == "application/x-www-form-urlencoded",
            form["grant_type"] == "client_credentials"
        else { throw .invalidRequest("invalid request", "expected a form with grant_type=client_credentials") }
        guard let application = applications.first(where: { $0.appID == form["client_id"] }) else {
            throw OAuthRefusal(status: 401, error: "invalid_client", detail: "client_id is the id of no app")
        }
        guard application.clientSecret == form["client_secret"] else {
            throw OAuthRefusal(status: 403, error: "invalid_client", detail: "client_secret is not the app's")
        }
        return application.appID
    }
}
