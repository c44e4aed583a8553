import Nostr
import Testing

@testable import Registry

struct OwnEventsTests {
    @Test func servesTheNewestOfEachSlot() throws {
        let bench = try Bench()
        let first = try bench.event(of: 1, Samples.phone("a"))
        let second = try bench.event(of: 1, Samples.phone("b"), at: 1, kind: .addressablePushRegistration)
        let tablet = try bench.event(of: 1, Samples.phone("c"), at: 1, device: "tablet")
        let farewell = try bench.event(of: 1, "", at: 2, device: "tablet")
        _ = try bench.registry.apply([first, tablet])
        #expect(try bench.registry.storedEvents(of: first.pubkey) == [first, tablet])
        _ = try bench.registry.apply([second, farewell])
        try bench.reopen()
        #expect(try bench.registry.storedEvents(of: first.pubkey) == [second, farewell])
        #expect(try bench.registry.storedEvents(of: bench.account(2).publicKey) == [])
    }

    @Test func keepsTheRoutersOwnNewestAdvertisement() throws {
        let bench = try Bench()
        let later = try bench.event(of: 0x11, content: "{}", at: 5, kind: .notificationRelay)
        let earlier = try bench.event(of: 0x11, content: "", at: 4, kind: .notificationRelay)
        #expect(try bench.registry.keep(earlier))
        #expect(try bench.registry.keep(later))
        #expect(try !bench.registry.keep(earlier))
        #expect(try bench.registry.storedEvents(of: bench.identity.publicKey) == [later])
    }

    @Test func deregistrationsAreKeptNoLongerThanTheirTombstones() throws {
        let bench = try Bench()
        // Backwards, so that each is older than all before it; then forwards.
        for second in Array((1...200).reversed()) + Array(201...400) {
            let farewell = try bench.event(of: 1, "", at: Int64(second), device: "device-\(second)")
            _ = try bench.registry.apply(farewell)
        }
        let kept = try bench.registry.storedEvents(of: bench.account(1).publicKey)
        #expect(kept.count == RegistryRows.tombstonesPerAccount)
    }

    @Test func tagsAreBounded() throws {
        let bench = try Bench()
        let ours = bench.identity.publicKey.hex
        for tags in [
            [["d", ours], ["x", String(repeating: "x", count: 4096)]],
            [["d", ours]] + Array(repeating: ["x"], count: 2048),
        ] {
            let event = try bench.event(of: 1, "", tags: tags)
            #expect(try bench.registry.apply(event).message == "invalid: tags: expected at most 4096 bytes in all")
        }
        #expect(try bench.registry.storedEvents(of: bench.account(1).publicKey) == [])
    }

    @Test func controlCharactersInTagsRoundTrip() throws {
        let bench = try Bench()
        let tags = [["d", bench.identity.publicKey.hex], ["x", "a\u{0}b\u{1}\"\\\n\u{202E}"]]
        let event = try bench.event(of: 1, Samples.phone("token"), tags: tags)
        #expect(try bench.registry.apply(event).isAccepted)
        #expect(try bench.registry.storedEvents(of: event.pubkey) == [event])
    }
}
