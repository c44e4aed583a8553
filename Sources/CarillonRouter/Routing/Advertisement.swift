import Nostr

/// The event that tells clients of this notification relay (seed 004, kind 10067).
struct Advertisement {
    let relay: Configuration.Relay
    let platforms: [String]

    /// `now` is in milliseconds since 1970.
    func event(by identity: KeyPair, now: Int64) throws -> Event {
        let url = relay.url.isEmpty ? "ws://\(relay.host):\(relay.port)" : relay.url
        return try Event.signed(
            kind: .notificationRelay,
            createdAt: now / 1000,
            tags: [["d", "notification-relay"], ["relay", url]] + platforms.map { ["platform", $0] } + [
                ["protocol_version", "1"]
            ],
            content: "",
            by: identity
        )
    }
}
