import Cipher
import Nostr
import RelayPool
import Testing

@testable import CarillonRouter

@Suite struct AdvertisementTests {
    private let identity: KeyPair

    init() throws {
        identity = try KeyPair(random: SecureRandom.bytes)
    }

    private func advertisement(
        url: String = "wss://notify.example.com",
        host: String = "127.0.0.1",
        nip46: [String] = [],
        platforms: [String] = ["ios", "unifiedpush"]
    ) throws -> Advertisement {
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.relay.url = url
        configuration.relay.host = host
        configuration.relays.nip46 = try nip46.map { try #require(RelayURL($0)) }
        return Advertisement(configuration: configuration, port: 4711, platforms: platforms)
    }

    @Test func saysWhatSeed004Asks() throws {
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

    @Test(arguments: [("127.0.0.1", "ws://127.0.0.1:4711"), ("::1", "ws://[::1]:4711")])
    func withoutAURLItNamesWhereTheSocketReallyListens(_ host: String, _ url: String) throws {
        #expect(try advertisement(url: "", host: host).url == url)
    }

    @Test func isMadeAnewOnlyWhenItSaysSomethingElse() throws {
        let first = try advertisement().event(by: identity, replacing: nil, now: 5_000)
        #expect(try advertisement().event(by: identity, replacing: first, now: 9_000) == first)
        for changed in [
            try advertisement(url: "wss://other.example.com"), try advertisement(platforms: ["ios"]),
            try advertisement(nip46: ["wss://relay.example.com"]),
        ] {
            #expect(try changed.event(by: identity, replacing: first, now: 9_000).createdAt == 9)
            // Also within the same second, and with a clock that was set back, it must replace the former one.
            #expect(try changed.event(by: identity, replacing: first, now: 5_000).createdAt == 6)
            #expect(try changed.event(by: identity, replacing: first, now: 1_000).createdAt == 6)
        }
    }

    @Test func anotherIdentityMakesItsOwn() throws {
        let first = try advertisement().event(by: identity, replacing: nil, now: 5_000)
        let other = try KeyPair(random: SecureRandom.bytes)
        #expect(try advertisement().event(by: other, replacing: first, now: 5_000).pubkey == other.publicKey)
    }
}
