import Cipher

/// A topic at the lab's UnifiedPush or ntfy server.
public struct NtfyTopic: Sendable, Hashable {
    /// How messages to a topic are handled. The raw values are those of the control endpoint.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case registered
        /// No recent subscriber: 507 for UnifiedPush messages, ntfy's response with rate limits by subscriber.
        case noSubscriber = "no_subscriber"
        /// 404, which UnifiedPush's server specification requires for an endpoint that is gone.
        case gone
        /// 403.
        case forbidden
    }

    /// 1 to 64 characters of `[A-Za-z0-9_-]`, case-sensitive. Messages cannot name any other.
    public var name: String
    /// The handling of a message with valid length and authorization.
    public var state: State

    /// Accepts any name. Undeclared topics are registered; declaring one as registered ends another state.
    public init(_ name: String, state: State = .registered) {
        self.name = name
        self.state = state
    }

    /// The refusal of a message; nil if it may pass.
    func refusal(isUnifiedPush: Bool) -> NtfyError? {
        switch state {
        case .registered: nil
        case .noSubscriber: isUnifiedPush ? .noSubscriber : nil
        case .gone: .notFound
        case .forbidden: .forbidden
        }
    }
}

extension NtfyTopic: Decodable {
    private enum CodingKeys: CodingKey {
        case token
        case state
    }

    /// Reads `{"token": "up…", "state": "no_subscriber"}`. Default `state`: registered.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let word = try container.decodeIfPresent(String.self, forKey: .state) ?? State.registered.rawValue
        guard let state = State(rawValue: word) else {
            let words = State.allCases.map(\.rawValue).joined(separator: ", ")
            throw container.invalid(.state, "state is one of \(words)")
        }
        self.init(try container.decode(String.self, forKey: .token), state: state)
    }
}

/// The publishers of a server's topics.
struct NtfyAccess: Sendable {
    /// UnifiedPush's topics are `up` and 12 more characters. Every client may publish to them.
    private static let unifiedPushTopicLength = 14

    var allowsAnonymous = true
    /// The topics that each token may publish to; nil: all.
    var tokens: [String: Set<String>?] = [:]

    func check(_ request: LabRequest, topic: String) throws(NtfyError) {
        guard let authorization = try Self.authorization(of: request) else {
            let isUnifiedPush = topic.hasPrefix("up") && topic.utf8.count == Self.unifiedPushTopicLength
            guard allowsAnonymous || isUnifiedPush else { throw .forbidden }
            return
        }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw .unauthorized }
        switch words[0].lowercased() {
        // Web Push's own authorization (RFC 8292), which ntfy ignores.
        case "vapid", "webpush": return
        case "bearer": try check(token: String(words[1]), topic)
        case "basic":
            guard let bytes = Base64.decode(String(words[1])), let text = String(validating: bytes, as: UTF8.self),
                text.hasPrefix(":")
            else { throw .unauthorized }
            try check(token: String(text.dropFirst()), topic)
        default: throw .unauthorized
        }
    }

    private func check(token: String, _ topic: String) throws(NtfyError) {
        guard let allowed = tokens[token] else { throw .unauthorized }
        guard allowed?.contains(topic) ?? true else { throw .forbidden }
    }

    /// The header, or the parameter `auth` instead.
    private static func authorization(of request: LabRequest) throws(NtfyError) -> String? {
        guard let parameter = request.query["auth"] else { return request.header("authorization") }
        guard let bytes = Base64URL.decode(parameter), let text = String(validating: bytes, as: UTF8.self) else {
            throw .unauthorized
        }
        return text
    }
}

/// An error in ntfy's own format: `{"code":40401,"http":404,"error":"page not found"}`.
struct NtfyError: Error, Equatable {
    var code: Int
    var http: Int
    var error: String
    var link: String?

    /// `code` is ntfy's number. Its first three digits are the HTTP status.
    init(_ code: Int, _ error: String, _ section: String? = nil) {
        self.code = code
        http = code / 100
        self.error = error
        link = section.map { "https://ntfy.sh/docs/publish/#" + $0 }
    }

    static let priorityInvalid = NtfyError(40007, "invalid request: priority invalid", "message-priority")
    static let topicInvalid = NtfyError(40009, "invalid request: topic invalid")
    static let topicNotAllowed = NtfyError(40010, "invalid request: topic name is not allowed")
    static let notUTF8 = NtfyError(40011, "invalid message: message must be UTF-8 encoded")
    static let jsonInvalid = NtfyError(40017, "invalid request: request body must be valid JSON")
    static let iconInvalid = NtfyError(40021, "invalid request: icon URL is invalid", "icons")
    static let unauthorized = NtfyError(40101, "unauthorized", "authentication")
    static let forbidden = NtfyError(40301, "forbidden", "authentication")
    static let notFound = NtfyError(40401, "page not found")
    static let tooLarge = NtfyError(41301, "attachment too large, or bandwidth limit reached", "limitations")
    static let jsonTooLarge = NtfyError(41303, "JSON body too large")
    static let noSubscriber = NtfyError(
        50701,
        "cannot publish to UnifiedPush topic without previously active subscriber",
        "rate-limiting"
    )

    private static let others = [
        NtfyError(40000, "invalid request"),
        NtfyError(42901, "limit reached: too many requests", "limitations"),
        NtfyError(42905, "limit reached: daily bandwidth reached", "limitations"),
        NtfyError(42908, "limit reached: daily message quota reached", "limitations"),
        NtfyError(42909, "limit reached: too many auth failures", "limitations"),
        NtfyError(50001, "internal server error"),
    ]

    private static let known =
        [
            priorityInvalid, topicInvalid, topicNotAllowed, notUTF8, jsonInvalid, iconInvalid, unauthorized, forbidden,
            notFound, tooLarge, jsonTooLarge, noSubscriber,
        ] + others

    static func actionsInvalid(_ why: String) -> NtfyError {
        NtfyError(40018, "invalid request: actions invalid; \(why)", "action-buttons")
    }

    static func delayInvalid(_ code: Int, _ why: String) -> NtfyError {
        NtfyError(code, "invalid request: " + why, "scheduled-delivery")
    }

    /// ntfy's usual error of a status.
    static func usual(for status: Int) -> NtfyError {
        let preferred = status == 400 ? 40000 : status * 100 + 1
        return known.first { $0.code == preferred } ?? known.first { $0.http == status }
            ?? NtfyError(status * 100, "refused")
    }

    /// The error that a misbehaviour orders. Its reason is one of ntfy's codes, or a text for the usual code of the
    /// status.
    static func ordered(_ answer: OrderedAnswer) -> NtfyError {
        var error = usual(for: answer.status)
        if let code = answer.reason.flatMap({ Int($0) }) {
            error = known.first { $0.code == code } ?? NtfyError(code, error.error)
        } else if let words = answer.reason {
            error.error = words
        }
        error.http = answer.status
        error.error = answer.message ?? error.error
        return error
    }

    var reply: LabReply {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(code)), "http": .integer(Int64(http)), "error": .string(error),
        ]
        members["link"] = link.map(JSONValue.string)
        return LabReply(
            answer: HTTPAnswer(status: http, json: JSONValue.object(members).compact),
            reason: error,
            detail: self == .tooLarge ? "the message has more than \(NtfyPublication.messageLimit) bytes" : nil
        )
    }
}
