extension APNsDevice: Decodable {
    private enum CodingKeys: String, CodingKey {
        case token
        case state
        case since
        case topics
        case environment
    }

    /// From `{"token": "…", "state": "unregistered", "since": 1754000000000, "topics": ["com.example.app"],
    /// "environment": "sandbox"}`.
    ///
    /// `state` is one of registered (the default), unregistered, expired and bad; `since` is in milliseconds; `environment` is
    /// production where it is left out, unless `service` is apns_sandbox.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let since = try container.decodeIfPresent(Int64.self, forKey: .since) ?? 0
        let state: State =
            switch try container.decodeIfPresent(String.self, forKey: .state) ?? "registered" {
            case "registered": .registered
            case "unregistered": .unregistered(since: since)
            case "expired": .expired(since: since)
            case "bad": .bad
            default:
                throw container.mistake(.state, "state is one of registered, unregistered, expired, bad")
            }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            topics: try container.decodeIfPresent(Set<String>.self, forKey: .topics),
            environment: try container.decodeIfPresent(APNsEnvironment.self, forKey: .environment) ?? .production
        )
    }
}
