import Core
import Nostr
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Registry

struct RegistryApplyTests {
    @Test func registersUpdatesAndDeregisters() throws {
        let bench = try Bench()
        let device = DeviceID(rawValue: 1)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))) == .registered(device))
        #expect(try bench.tokens(of: 1) == ["one"])
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 1)) == .updated(device))
        #expect(try bench.tokens(of: 1) == ["two"])
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 2)) == .deregistered)
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.registry.address(of: device) == nil)
        #expect(try bench.registry.content(of: device) == nil)
    }

    @Test func anOldCopyDoesNotReviveADeregisteredDevice() throws {
        let bench = try Bench()
        let first = try bench.event(of: 1, Samples.phone("one"))
        let farewell = try bench.event(of: 1, "", at: 5)
        _ = try bench.registry.apply([first, farewell])
        #expect(try bench.registry.apply(first) == .outdated)
        #expect(try bench.registry.apply(farewell) == .duplicate)
        try bench.reopen()
        #expect(try bench.registry.apply(first) == .outdated)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 4)) == .outdated)
        #expect(try bench.tokens(of: 1) == [])
        let later = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 6))
        #expect(later == .registered(DeviceID(rawValue: 2)), "a device's number is never used again")
    }

    @Test func earlierDeregistrationBlocksOlderRegistrations() throws {
        let bench = try Bench()
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 5)) == .deregistered)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))) == .outdated)
    }

    @Test func newestWinsAndLowestIDBreaksATie() throws {
        let bench = try Bench()
        let event = try bench.event(of: 1, Samples.phone("middle"), at: 10, id: 0x80)
        _ = try bench.registry.apply(event)
        #expect(try bench.registry.apply(event) == .duplicate)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("older"), at: 9, id: 0)) == .outdated)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("higher"), at: 10, id: 0x81)) == .outdated)
        #expect(try bench.tokens(of: 1) == ["middle"])
        let lower = try bench.event(of: 1, Samples.phone("lower"), at: 10, id: 0x7F)
        #expect(try bench.registry.apply(lower) == .updated(DeviceID(rawValue: 1)))
        #expect(try bench.tokens(of: 1) == ["lower"])
    }

    @Test func outdatedRegistrationIsRefusedWithAFix() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 10, id: 0x10))
        // Signed within the same second, with a higher id: NIP-01 has relays keep the first.
        let second = try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 10, id: 0x11))
        #expect(second == .outdated)
        #expect(!second.isAccepted)
        #expect(second.message.hasPrefix("invalid: created_at: ") && second.message.hasSuffix("a later created_at"))
        #expect(try !bench.registry.apply(bench.event(of: 1, "", at: 9)).isAccepted)
        #expect(try bench.tokens(of: 1) == ["one"])
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 11, id: 0x11)).isAccepted)
        #expect(try bench.tokens(of: 1) == ["two"])
    }

    @Test(arguments: [-5, 0])
    func invalidRegistrationIsReportedBeforeAnOutdatedOne(seconds: Int64) throws {
        let bench = try Bench { address in
            if address.platform == "carrier-pigeon" {
                throw RegistrationError.unsupported("no carrier-pigeon here")
            }
        }
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), id: 0x10))
        let answers = try [
            bench.event(of: 1, #"{"platform":"ios"}"#, at: seconds, id: 0x20),
            bench.event(of: 1, #"{"platform":"carrier-pigeon","token":"t"}"#, at: seconds, id: 0x21),
            bench.event(of: 1, content: "not encrypted", at: seconds, id: 0x22),
        ].map { try bench.registry.apply($0).message }
        #expect(answers[0].hasPrefix("invalid: registration field `token`: expected"))
        #expect(answers[1] == "unsupported: no carrier-pigeon here")
        #expect(answers[2].hasPrefix("invalid: content: expected NIP-44"))
        #expect(try bench.tokens(of: 1) == ["one"])
    }

    @Test func replaysDoNotCountTowardsTheRegistrationLimit() throws {
        var limits = RegistrationPolicy.Limits()
        limits.registrationBurst = 2
        limits.registrationsPerKeyPerHour = 1
        let bench = try Bench(limits: limits)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 5))
        for id: UInt8 in 0..<9 {
            #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("old"), id: id)) == .outdated)
        }
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 6)).isAccepted)
    }

    @Test func bothKindsShareASlot() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let other = try bench.event(of: 1, Samples.phone("two"), at: 1, kind: .addressablePushRegistration)
        #expect(try bench.registry.apply(other) == .updated(DeviceID(rawValue: 1)))
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 2)) == .deregistered)
        #expect(try bench.tokens(of: 1) == [])
    }

    @Test func eventsThatAreNotForUsAreNoDeregistration() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let ours = bench.identity.publicKey.hex
        let other = String(repeating: "ab", count: 32)
        let strangers: [[[String]]] = [
            [["d", other]], [["d", ours + "x"]], [["d", other], ["d", ours]], [["d", ours + "\u{301}"]],
            [["d", ours + ":\u{301}"]],
        ]
        for tags in strangers {
            #expect(try bench.registry.apply(bench.event(of: 1, "", at: 9, tags: tags)) == .notForUs)
        }
        for tags in [[], [[]], [["d"]], [["d", ""]], [["p", ours]], [["d", ours.uppercased()]]] as [[[String]]] {
            let result = try bench.registry.apply(bench.event(of: 1, "", at: 9, tags: tags))
            #expect(result.message.hasPrefix("invalid: tag d: expected our public key"))
        }
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 9, kind: .textNote)) == .notForUs)
        #expect(try bench.tokens(of: 1) == ["one"])
    }

    @Test(arguments: ["", "a b", "ümlaut", "a\u{0}", String(repeating: "x", count: 65)])
    func invalidDeviceIDsAreRefused(device: String) throws {
        let bench = try Bench()
        let result = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), device: device))
        #expect(result.message.hasPrefix("invalid: tag d: expected a device id of 1 to 64 of "))
    }

    @Test func futureTimestampsAreRefused() throws {
        let bench = try Bench()
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 600)).isAccepted)
        for seconds in [601, 1 << 40, Int64.max - Bench.start] {
            let result = try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: seconds))
            #expect(result.message == "invalid: created_at: expected at most 600 seconds ahead of now")
        }
        let ancient = try bench.event(of: 2, Samples.phone("two"), at: -Bench.start - 1)
        #expect(try !bench.registry.apply(ancient).isAccepted)
        bench.clock.advance(by: .seconds(1))
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 601)).isAccepted)
    }

    @Test func unreadableRegistrationIsRefusedWithoutChanges() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let foreign = try bench.event(of: 2, Samples.phone("two"), at: 1)
        for content in ["not encrypted", foreign.content, "\u{0}", String(repeating: "A", count: 100_000)] {
            let result = try bench.registry.apply(bench.event(of: 1, content: content, at: 1))
            #expect(result.message.hasPrefix("invalid: content: expected NIP-44"))
        }
        let bad = try bench.registry.apply(bench.event(of: 1, #"{"platform":"ios"}"#, at: 1))
        #expect(bad.message.hasPrefix("invalid: registration field `token`: expected"))
        #expect(try bench.tokens(of: 1) == ["one"])
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 1)).isAccepted)
    }

    @Test func readsContentsUpToTheirLimit() throws {
        let bench = try Bench()
        func filled(to count: Int) -> String {
            let frame = Samples.phone("t", further: #","x":[""]"#).utf8.count
            return Samples.phone("t", further: #","x":["\#(String(repeating: "x", count: count - frame))"]"#)
        }
        #expect(try bench.registry.apply(bench.event(of: 1, filled(to: 16 * 1024))).isAccepted)
        let larger = try bench.registry.apply(bench.event(of: 1, filled(to: 16 * 1024 + 1), at: 1))
        #expect(larger.message.hasPrefix("invalid: content: expected"))
    }

    @Test func invalidAuthorKeysAreRefused() throws {
        let bench = try Bench()
        var event = try bench.event(of: 1, Samples.phone("one"))
        event.pubkey = PublicKey(Bytes32(repeating: 0xFF))
        #expect(try bench.registry.apply(event).message.hasPrefix("invalid: content: expected NIP-44"))
    }

    @Test func invalidRootIdentityIsRefused() throws {
        let bench = try Bench()
        let ours = bench.identity.publicKey.hex
        for identity in [["root_identity"], ["root_identity", ""], ["root_identity", ours.uppercased()]] {
            let event = try bench.event(of: 1, Samples.phone("one"), tags: [["d", ours], identity])
            let result = try bench.registry.apply(event)
            #expect(result.message.hasPrefix("invalid: tag root_identity: expected a public key"))
        }
        let own = try bench.account(1).publicKey.hex
        let event = try bench.event(of: 1, Samples.phone("one"), tags: [["d", ours], ["root_identity", own]])
        #expect(try bench.registry.apply(event) == .registered(DeviceID(rawValue: 1)))
    }

    @Test func unservedPlatformIsRefused() throws {
        struct Talkative: Error, CustomStringConvertible {
            var description: String { "token one is bad" }
        }
        let bench = try Bench { address in
            if address.platform == "carrier-pigeon" {
                throw RegistrationError.unsupported("no carrier-pigeon here")
            }
            if address.token == "one" { throw Talkative() }
        }
        let pigeon = try bench.event(of: 1, #"{"platform":"carrier-pigeon","token":"t"}"#)
        #expect(try bench.registry.apply(pigeon).message == "unsupported: no carrier-pigeon here")
        let one = try bench.event(of: 1, Samples.phone("one"))
        #expect(
            try bench.registry.apply(one).message == "invalid: platform ios does not take this registration"
        )
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("two"))).isAccepted)
    }

    /// A plugin may be restarting. A registration that is retried must not have used up its author's limit.
    @Test func uncheckedRegistrationMayBeResentWithoutUsingTheLimit() throws {
        let isBroken = Mutex(true)
        var limits = RegistrationPolicy.Limits()
        limits.registrationBurst = 2
        let bench = try Bench(limits: limits) { _ in
            if isBroken.withLock(\.self) { throw RegistrationError.failed("no plugin") }
        }
        let event = try bench.event(of: 1, Samples.phone("one"))
        for _ in 1...5 { #expect(try bench.registry.apply(event).message == "error: no plugin; try again later") }
        isBroken.withLock { $0 = false }
        #expect(try bench.registry.apply(event).isAccepted)
        // A registration that waits for its root was checked before, and does not wait forever.
        #expect(try bench.registry.apply(bench.event(ofDevice: 11, for: 2, Samples.phone("two"))) == .waiting)
        isBroken.withLock { $0 = true }
        #expect(try bench.registry.learn(bench.deviceList(of: 2, devices: [11])) == .learned)
        #expect(try bench.tokens(of: 2) == ["two"])
    }

    @Test func devicesPerAccountAreLimited() throws {
        let bench = try Bench(limits: RegistrationPolicy.Limits(devicesPerAccount: 3))
        for device in ["a", "b", "c"] {
            #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone(device), device: device)).isAccepted)
        }
        let fourth = try bench.event(of: 1, Samples.phone("d"), at: 1, device: "d")
        #expect(
            try bench.registry.apply(fourth).message
                == "blocked: this account has 3 devices already: deregister one of them first"
        )
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("a2"), at: 1, device: "a")).isAccepted)
        #expect(try bench.registry.apply(bench.event(of: 2, Samples.phone("e"))).isAccepted)
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 1, device: "b")) == .deregistered)
        #expect(try bench.registry.apply(fourth).isAccepted)
        #expect(try bench.tokens(of: 1) == ["a2", "c", "d"])
    }

    @Test func registrationsPreferencesAreStored() throws {
        let bench = try Bench()
        let json = Samples.web(
            further: #","mode":"alert","app":"reader","filters":{"zap":true,"wallet":true},"quiet":"#
                + #"{"start":"23:00","end":"07:00","tz":"+05:45"},"x-unknown":{"kept":[1]}"#
        )
        bench.clock.advance(by: .seconds(5))
        let event = try bench.event(of: 1, json, at: 3)
        let device = DeviceID(rawValue: 1)
        #expect(try bench.registry.apply(event) == .registered(device))
        try bench.reopen()
        var address = DeviceAddress(
            platform: "web",
            app: "reader",
            token: "https://push.example.com/abc",
            fields: ["p256dh": Samples.p256dh, "auth": Samples.auth],
            registeredAt: Bench.time(3),
            isProven: false
        )
        address.mode = .alert
        #expect(try bench.registry.address(of: device) == address)
        let content = try #require(try bench.registry.content(of: device))
        #expect(content.json == json)
        #expect(content.quiet?.zone.minutesAhead(at: 0) == 345)
        let listing = try #require(try bench.registry.devices().first)
        #expect(listing.device == device)
        #expect(listing.mode == .alert)
        #expect(listing.route == Route(platform: "web", app: "reader"))
        #expect(listing.signals == [.zap, Signal(rawValue: "wallet")])
        #expect(try bench.registry.devices(of: event.pubkey) == [listing])
        #expect(try bench.registry.devices(of: bench.account(2).publicKey) == [])
        #expect(try bench.registry.devices(after: device) == [])
        #expect(try bench.registry.devices(limit: -1) == [])
    }

    @Test func batchIsProcessedInOrder() throws {
        let bench = try Bench()
        let results = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one")),
            bench.event(of: 1, Samples.phone("two"), at: 1),
            bench.event(of: 1, Samples.phone("one")),
            bench.event(of: 2, "nonsense"),
            bench.event(of: 2, Samples.phone("three")),
            bench.event(of: 3, "", tags: [["d", "another router"]]),
            bench.event(of: 2, "", at: 1),
        ])
        let first = DeviceID(rawValue: 1)
        #expect(results.prefix(3) == [.registered(first), .updated(first), .outdated])
        #expect(results[3].message.hasPrefix("invalid: registration content: expected "))
        #expect(results[4].isAccepted)
        #expect(results.suffix(2) == [.notForUs, .deregistered])
        #expect(try bench.tokens(of: 1) == ["two"])
        #expect(try bench.registry.apply([]) == [])
    }

    @Test func aRegistrationIsDatedNoLaterThanItArrivedAndAlwaysLaterThanBefore() throws {
        let bench = try Bench()
        let device = DeviceID(rawValue: 1)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 300))
        #expect(try bench.registry.address(of: device)?.registeredAt == Bench.time())
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 301))
        #expect(try bench.registry.address(of: device)?.registeredAt == Bench.time() + .milliseconds(1))
    }
}
