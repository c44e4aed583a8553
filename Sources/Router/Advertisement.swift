import Core
import Foundation
import Nostr
import Pipeline
import Registry
import RelayServer
import Relays
import RouterConfiguration

/// This notification relay's description of itself for clients (kind 10067, contrib/docs/registration.md).
struct Advertisement: Equatable {
    /// The event's content.
    private struct Content: Encodable {
        let name: String
        let description: String
        let contact: String?
        let termsOfService: String?
        let limits: PushTerms.Limits
        let apps: [String: [String: [String: [String]]]]

        private enum CodingKeys: String, CodingKey {
            case name, description, contact, limits, apps
            case termsOfService = "terms_of_service"
        }
    }

    /// The same for clients without a relay: tags and content in one.
    private struct Document: Encodable {
        let pubkey: String
        let relay: String
        let nip46Relays: [String]
        let platforms: [String]
        let protocolVersions = [RegistrationPolicy.protocolVersion]
        let content: Content

        private enum CodingKeys: String, CodingKey {
            case pubkey, relay, platforms
            case nip46Relays = "nip46_relays"
            case protocolVersions = "protocol_versions"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(pubkey, forKey: .pubkey)
            try container.encode(relay, forKey: .relay)
            try container.encode(nip46Relays, forKey: .nip46Relays)
            try container.encode(platforms, forKey: .platforms)
            try container.encode(protocolVersions, forKey: .protocolVersions)
            try content.encode(to: encoder)
        }
    }

    /// The URL of this router's relay socket.
    let url: String
    let platforms: [String]
    /// Additional relays for NIP-46 sessions.
    let nip46: [RelayURL]
    private let relay: Configuration.Relay
    private let terms: PushTerms
    /// JSON. Equal capabilities always produce the same text.
    private let content: String

    /// `port` is the socket's actual port, which the system may have chosen.
    init(configuration: Configuration, port: Int, _ terms: PushTerms) throws {
        url = configuration.relay.clientURL(port: port)
        nip46 = configuration.relays.nip46
        platforms = terms.platforms
        relay = configuration.relay
        self.terms = terms
        content = String(decoding: try Self.json(Self.content(configuration.relay, terms)), as: UTF8.self)
    }

    /// The event with this advertisement: `kept` if it is unchanged, else a new one that replaces it.
    ///
    /// An unchanged event is kept, so that a restart does not look like a change. `succession` tells apps to move to
    /// the key that replaces `identity`.
    func event(
        by identity: KeyPair,
        _ succession: Succession? = nil,
        replacing kept: Event?,
        now: Timestamp
    ) throws -> Event {
        let tags = tags + (succession?.tags ?? [])
        if let kept, kept.tags == tags, kept.content == content, kept.pubkey == identity.publicKey { return kept }
        return try Event.signed(
            kind: .notificationRelay,
            createdAt: max(now.seconds, kept.map { $0.createdAt + 1 } ?? 0),
            tags: tags,
            content: content,
            by: identity
        )
    }

    /// The HTTP response, as JSON.
    func document(of key: PublicKey) throws -> [UInt8] {
        try Self.json(
            Document(
                pubkey: key.hex,
                relay: url,
                nip46Relays: sessions,
                platforms: platforms,
                content: Self.content(relay, terms)
            )
        )
    }

    private static func content(_ relay: Configuration.Relay, _ terms: PushTerms) -> Content {
        Content(
            name: relay.name,
            description: relay.description,
            contact: relay.contact,
            termsOfService: relay.termsOfService,
            limits: terms.limits,
            apps: terms.apps
        )
    }

    private static func json(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// The relays for NIP-46 sessions: this router's socket, then the configured ones.
    private var sessions: [String] { [url] + nip46.map(\.text) }

    private var tags: [[String]] {
        [["d", "notification-relay"], ["relay", url]] + platforms.map { ["platform", $0] }
            + sessions.map { ["nip46_relay", $0] } + [["protocol_version", RegistrationPolicy.protocolVersion]]
    }
}

/// The replacement of a router key, and the time from which only the new key is valid.
struct Succession: Hashable {
    let successor: PublicKey
    let retiresAt: Timestamp

    fileprivate var tags: [[String]] { [["successor", successor.hex], ["retires_at", "\(retiresAt.seconds)"]] }
}

extension RouterKeyNames {
    /// Nil for the router's own key.
    func succession(of key: PublicKey) -> Succession? {
        guard let former, former.key == key, let retiresAt = former.retiresAt else { return nil }
        return Succession(successor: current.key, retiresAt: retiresAt)
    }
}

extension Configuration {
    /// The limits of registrations.
    var registrationLimits: PushTerms.Limits {
        PushTerms.Limits(
            devicesPerAccount: relay.registrations.devicesPerAccount,
            registrationsPerHour: relay.registrations.registrationsPerKeyPerHour,
            registrationBurst: relay.registrations.registrationBurst,
            contentBytes: RegistrationContent.longest,
            secondsAhead: relay.registrations.futureTolerance.seconds,
            cooldownSeconds: Int(defaults.pacing.leastCooldown.seconds),
            windowSeconds: Int(defaults.pacing.leastWindow.seconds),
            dailyCap: defaults.pacing.maxDailyCap
        )
    }
}
