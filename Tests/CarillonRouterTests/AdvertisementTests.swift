import Cipher
import Nostr
import Testing

@testable import CarillonRouter

@Suite struct AdvertisementTests {
    @Test func saysWhatSeed004Asks() throws {
        let identity = try KeyPair(random: SecureRandom.bytes)
        var relay = Configuration.Relay()
        relay.url = "wss://notify.example.com"
        let event = try Advertisement(relay: relay, platforms: ["ios", "unifiedpush"]).event(by: identity, now: 5_000)
        #expect(event.kind == .notificationRelay)
        #expect(event.createdAt == 5)
        #expect(event.pubkey == identity.publicKey)
        #expect(
            event.tags == [
                ["d", "notification-relay"], ["relay", "wss://notify.example.com"], ["platform", "ios"],
                ["platform", "unifiedpush"], ["protocol_version", "1"],
            ]
        )
        #expect(throws: Never.self) { try event.verify() }
    }
}
