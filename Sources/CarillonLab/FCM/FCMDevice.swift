/// What the lab's FCM knows of a registration token.
public struct FCMDevice: Sendable, Hashable {
    /// What FCM says to messages for a token ("ErrorCode"). The raw values are the words of the control endpoint.
    public enum State: String, Sendable, Hashable, Decodable {
        case registered
        /// The app is gone: 404 `UNREGISTERED`.
        case unregistered
        /// Of another Firebase project: 403 `SENDER_ID_MISMATCH`.
        case otherSender = "other_sender"
        /// No token at all: 400 `INVALID_ARGUMENT`.
        case invalid
    }

    /// 32 to 4096 characters of `[A-Za-z0-9_:-]`, case-sensitive; any other gets 400 `INVALID_ARGUMENT` whatever is
    /// declared of it.
    public var token: String
    /// Only where it is registered does `project` matter.
    public var state: State
    /// The project it is of; with any other, 403 `SENDER_ID_MISMATCH`. Nil for all.
    public var project: String?

    /// Takes any text for a token, and lets every project send to it unless told otherwise.
    public init(token: String, state: State = .registered, project: String? = nil) {
        self.token = token
        self.state = state
        self.project = project
    }
}

extension FCMDevice: Decodable {
    private enum CodingKeys: CodingKey {
        case token
        case state
        case project
    }

    /// From `{"token": "…", "state": "unregistered", "project": "…"}`; `state` is one of registered (the default), unregistered,
    /// other_sender and invalid.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let word = try container.decodeIfPresent(String.self, forKey: .state) ?? State.registered.rawValue
        guard let state = State(rawValue: word) else {
            throw DecodingError.dataCorruptedError(
                forKey: .state,
                in: container,
                debugDescription: "state is one of registered, unregistered, other_sender, invalid"
            )
        }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            project: try container.decodeIfPresent(String.self, forKey: .project)
        )
    }
}
