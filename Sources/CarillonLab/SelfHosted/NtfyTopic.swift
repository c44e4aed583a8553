import Cipher

/// What the lab's UnifiedPush or ntfy server knows of a topic.
public struct NtfyTopic: Sendable, Hashable {
    /// What becomes of messages to a topic. The raw values are the words of the control endpoint.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case registered
        /// Nobody subscribed lately: 507 for UnifiedPush messages, as ntfy answers with rate limits by subscriber.
        case noSubscriber = "no_subscriber"
        /// 404, which UnifiedPush's server specification has for an endpoint that is no more.
        case gone
        /// 403.
        case forbidden
    }

    /// 1 to 64 characters of `[A-Za-z0-9_-]`, or no message can name it; case-sensitive.
    public var name: String
    /// What a message meets whose length and authorization are good.
    public var state: State

    /// Takes any name. A topic that was never declared is registered: to say so of one ends another state.
    public init(_ name: String, state: State = .registered) {
        self.name = name
        self.state = state
    }

    /// Nil where a message may pass.
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

    /// From `{"token": "up…", "state": "no_subscriber"}`; `state` is registered where it is left out.
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
    /// UnifiedPush's topics, which everybody may write to: `up` and 12 more.
    private static let unifiedPushTopicLength = 14

    var allowsAnonymous = true
    /// With the topics each may publish to; nil: all.
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
        // Web Push's own (RFC 8292), which is not for ntfy.
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

    /// The header, or what `?auth=` has in its place.
    private static func authorization(of request: LabRequest) throws(NtfyError) -> String? {
        guard let parameter = request.query["auth"] else { return request.header("authorization") }
        guard let bytes = Base64URL.decode(parameter), let text = String(validating: bytes, as: UTF8.self) else {
            throw .unauthorized
        }
        return text
    }
}
