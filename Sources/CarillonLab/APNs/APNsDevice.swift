/// What the lab's APNs knows of a device token.
public struct APNsDevice: Sendable, Hashable {
    /// What APNs says to pushes for a token ("Handling notification responses from APNs").
    public enum State: Sendable, Hashable {
        case registered
        /// The app is gone: 410 `Unregistered`. `since` in milliseconds since 1970.
        case unregistered(since: Int64)
        /// 410 `ExpiredToken`. `since` in milliseconds since 1970.
        case expired(since: Int64)
        /// Garbage: 400 `BadDeviceToken`.
        case bad
    }

    /// In hex.
    public var token: String
    /// Looked at before `topics`, and before it is clear who sends.
    public var state: State
    /// The topics it belongs to; with any other, 400 `DeviceTokenNotForTopic`. Nil for all.
    public var topics: Set<String>?
    /// Where it is a device; in the other environment its token gets 400 `BadDeviceToken`.
    public var environment: APNsEnvironment

    /// Takes any text for a token; unless told otherwise it is registered, in production and for every topic.
    public init(
        token: String,
        state: State = .registered,
        topics: Set<String>? = nil,
        environment: APNsEnvironment = .production
    ) {
        self.token = token
        self.state = state
        self.topics = topics
        self.environment = environment
    }
}
