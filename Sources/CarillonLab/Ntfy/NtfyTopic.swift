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
            throw container.mistake(.state, "state is one of \(words)")
        }
        self.init(try container.decode(String.self, forKey: .token), state: state)
    }
}
