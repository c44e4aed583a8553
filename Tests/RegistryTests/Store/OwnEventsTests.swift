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
}
