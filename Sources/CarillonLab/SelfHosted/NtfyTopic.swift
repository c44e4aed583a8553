import Cipher

/// A topic, as the lab's UnifiedPush or ntfy server knows it.
public struct NtfyTopic: Sendable, Hashable {
    /// What happens to messages to a topic. The raw values are those of the control endpoint.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case registered
        /// No recent subscriber: 507 for UnifiedPush messages, ntfy's answer with rate limits by subscriber.
        case noSubscriber = "no_subscriber"
        /// 404, which UnifiedPush's server specification requires for an endpoint that is gone.
        case gone
        /// 403.
        case forbidden
    }

    /// 1 to 64 characters of `[A-Za-z0-9_-]`, case-sensitive. Messages cannot name any other.
    public var name: String
    /// What happens to a message with valid length and authorization.
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

    /// Reads `{"token": "up…", "state": "no_subscriber"}`. `state` is registered by default.
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

/// Who may publish to which topics of a server.
struct NtfyAccess: Sendable {
    /// UnifiedPush's topics are `up` and 12 more characters. Everybody may write to them.
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
        // Web Push's own authorization (RFC 8292), which does not concern ntfy.
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
