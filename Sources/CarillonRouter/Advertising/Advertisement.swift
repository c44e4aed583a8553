import Nostr
import RelayPool

/// What clients are told of this notification relay (seed 004, kind 10067).
struct Advertisement: Equatable {
    /// Where our own socket is reached.
    let url: String
    let platforms: [String]
    /// Where NIP-46 sessions are held besides.
    let nip46: [RelayURL]

    /// `port` is where the socket listens, which the configuration may have left to the system.
    init(configuration: Configuration, port: Int, platforms: [String]) {
        url = configuration.relay.clientURL(port: port)
        nip46 = configuration.relays.nip46
        self.platforms = platforms
    }

    /// The event that says so: `kept` if it does, else a new one that replaces it. `now` is in milliseconds since 1970.
    func event(by identity: KeyPair, replacing kept: Event?, now: Int64) throws -> Event {
        if let kept, kept.tags == tags, kept.content.isEmpty, kept.pubkey == identity.publicKey { return kept }
        return try Event.signed(
            kind: .notificationRelay,
            createdAt: max(now / 1000, kept.map { $0.createdAt + 1 } ?? 0),
            tags: tags,
            content: "",
            by: identity
        )
    }

    private var tags: [[String]] {
        [["d", "notification-relay"], ["relay", url]] + platforms.map { ["platform", $0] }
            + ([url] + nip46.map(\.text)).map { ["nip46_relay", $0] } + [["protocol_version", "1"]]
    }
}
