import Cipher
import Foundation
import Nostr
import RelayServer
import Relays
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct AdvertisementTests {
    private let identity: KeyPair

    init() throws {
        identity = try KeyPair(random: SecureRandom.bytes)
    }

    private func advertisement(
        url: String = "wss://notify.example.com",
        host: String = "127.0.0.1",
        nip46: [String] = [],
        platforms: [String] = ["ios", "unifiedpush"],
        key: String = "BNow",
        contact: String? = nil
    ) throws -> Advertisement {
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.relay.url = url
        configuration.relay.contact = contact
        configuration.relay.termsOfService = "https://example.com/terms"
        configuration.relay.host = host
        configuration.relays.nip46 = try nip46.map { try #require(RelayURL($0)) }
        let terms = PushTerms(
            platforms: platforms,
            limits: configuration.registrationLimits,
            apps: ["default": ["web": ["vapid_public_keys": [key, "BFormer"]]]]
        )
        return try Advertisement(configuration: configuration, port: 4711, terms)
    }

    @Test func hasNameKeyAndPlatforms() throws {
        let event = try advertisement(nip46: ["wss://relay.example.com/"])
            .event(by: identity, replacing: nil, now: 5_000)
        #expect(event.kind == .notificationRelay)
        #expect(event.createdAt == 5)
        #expect(event.pubkey == identity.publicKey)
        #expect(
            event.tags == [
                ["d", "notification-relay"], ["relay", "wss://notify.example.com"], ["platform", "ios"],
                ["platform", "unifiedpush"], ["nip46_relay", "wss://notify.example.com"],
                ["nip46_relay", "wss://relay.example.com"], ["protocol_version", "1"],
            ]
        )
        #expect(throws: Never.self) { try event.verify() }
    }

    @Test func contentDescribesTheRouterForApps() throws {
        let advertisement = try advertisement(nip46: ["wss://relay.example.com"], contact: "mailto:ops@example.com")
        let event = try advertisement.event(by: identity, replacing: nil, now: 5_000)
        let content =
            #"{"apps":{"default":{"web":{"vapid_public_keys":["BNow","BFormer"]}}},"contact":"mailto:ops@example.com","#
            + #""description":"A notification relay: register a device, be woken.","limits":{"content_bytes":16384,"#
            + #""cooldown_seconds":0,"daily_cap":100,"devices_per_account":32,"registration_burst":200,"#
            + #""registrations_per_hour":60,"seconds_ahead":600,"window_seconds":0},"name":"Carillon","#
            + #""terms_of_service":"https://example.com/terms"}"#
        #expect(event.content == content)
        // HTTP clients get the whole event.
        let document = try JSONSerialization.jsonObject(with: Data(advertisement.document(of: identity.publicKey)))
        var expected = try #require(JSONSerialization.jsonObject(with: Data(content.utf8)) as? [String: Any])
        expected["pubkey"] = identity.publicKey.hex
        expected["relay"] = "wss://notify.example.com"
        expected["nip46_relays"] = ["wss://notify.example.com", "wss://relay.example.com"]
        expected["platforms"] = ["ios", "unifiedpush"]
        expected["protocol_versions"] = ["1"]
        #expect(document as? NSDictionary == expected as NSDictionary)
    }

    @Test(arguments: [("127.0.0.1", "ws://127.0.0.1:4711"), ("::1", "ws://[::1]:4711")])
    func socketsAddressIsNamedIfNoURLIsConfigured(_ host: String, _ url: String) throws {
        #expect(try advertisement(url: "", host: host).url == url)
    }

    @Test func eventIsRecreatedOnlyIfItsContentChanges() throws {
        let first = try advertisement().event(by: identity, replacing: nil, now: 5_000)
        #expect(try advertisement().event(by: identity, replacing: first, now: 9_000) == first)
        for changed in [
            try advertisement(url: "wss://other.example.com"), try advertisement(platforms: ["ios"]),
            try advertisement(nip46: ["wss://relay.example.com"]), try advertisement(key: "BNew"),
            try advertisement(contact: "mailto:ops@example.com"),
        ] {
            #expect(try changed.event(by: identity, replacing: first, now: 9_000).createdAt == 9)
            // A new event must replace the former one even within the same second, or after the clock was set back.
            #expect(try changed.event(by: identity, replacing: first, now: 5_000).createdAt == 6)
            #expect(try changed.event(by: identity, replacing: first, now: 1_000).createdAt == 6)
        }
    }

    @Test func anotherIdentityCreatesItsOwnEvent() throws {
        let first = try advertisement().event(by: identity, replacing: nil, now: 5_000)
        let other = try KeyPair(random: SecureRandom.bytes)
        #expect(try advertisement().event(by: other, replacing: first, now: 5_000).pubkey == other.publicKey)
    }
}
