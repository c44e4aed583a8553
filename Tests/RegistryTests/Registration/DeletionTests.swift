import Nostr
import Push
import Testing

@testable import Registry

/// Registrations that end because their authors delete them (NIP-09) or ask to be forgotten (NIP-62).
struct DeletionTests {
    private let bench: Bench

    init() throws {
        bench = try Bench()
    }

    private func deletion(
        by account: UInt8,
        at seconds: Int64 = 5,
        _ tags: [[String]],
        kind: Kind = .deletion
    ) throws -> Deletion {
        let event = try bench.event(of: account, content: "", at: seconds, id: 0x77, kind: kind, tags: tags)
        return try #require(Deletion(event))
    }

    private func address(_ kind: Kind, of account: UInt8, _ device: String? = nil) throws -> [String] {
        let ours = bench.identity.publicKey.hex
        return ["a", "\(kind.rawValue):\(try bench.key(account).hex):\(device.map { "\(ours):\($0)" } ?? ours)"]
    }

    @Test func aDeletionOfTheEventEndsItsRegistration() throws {
        let event = try bench.event(of: 1, Samples.phone("one"), id: 0x10)
        _ = try bench.registry.apply([event, bench.event(of: 1, Samples.phone("two"), device: "b", id: 0x11)])
        #expect(try bench.registry.apply(deletion(by: 1, [["e", event.id.hex]])) == 1)
        #expect(try bench.tokens(of: 1) == ["two"])
        #expect(try bench.registry.storedEvents(of: bench.key(1)).count == 1)
        #expect(try bench.registry.apply(event) == .ended, "it does not come back")
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1)).isAccepted)
    }

    @Test func onlyTheAuthorCanDeleteARegistration() throws {
        let event = try bench.event(of: 1, Samples.phone("one"), id: 0x10)
        _ = try bench.registry.apply(event)
        let tags = [["e", event.id.hex], try address(.pushRegistration, of: 1), try address(.pushRegistration, of: 2)]
        #expect(try bench.registry.apply(deletion(by: 2, tags)) == 0)
        #expect(try bench.registry.apply(deletion(by: 2, [["relay", "ALL_RELAYS"]], kind: .requestToVanish)) == 0)
        #expect(try bench.tokens(of: 1) == ["one"])
    }

    @Test func deletionByAddressEndsOlderRegistrations() throws {
        for (seconds, name) in [(4, "old"), (6, "new")] as [(Int64, String)] {
            _ = try bench.registry.apply(
                bench.event(of: 1, Samples.phone(name), at: seconds, device: name, kind: .addressablePushRegistration)
            )
        }
        let tags = try [
            address(.addressablePushRegistration, of: 1, "old"), address(.addressablePushRegistration, of: 1, "new"),
        ]
        #expect(try bench.registry.apply(deletion(by: 1, at: 5, tags)) == 1)
        #expect(try bench.tokens(of: 1) == ["new"])
        // Another version with that time does not come back either.
        let other = try bench.event(of: 1, Samples.phone("old"), at: 5, device: "old", id: 1)
        #expect(try bench.registry.apply(other) == .outdated)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("old"), at: 6, device: "old")).isAccepted)
    }

    @Test func addressDeletesOnlyItsKind() throws {
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        #expect(try bench.registry.apply(deletion(by: 1, [address(.addressablePushRegistration, of: 1)])) == 0)
        #expect(try bench.tokens(of: 1) == ["one"])
        // As a replaceable event it has no identifier in its address.
        let bare = ["a", "10062:\(try bench.key(1).hex):"]
        #expect(try bench.registry.apply(deletion(by: 1, at: 6, [bare])) == 1)
        #expect(try bench.tokens(of: 1) == [])
    }

    @Test func earlierDeletionBlocksTheRegistration() throws {
        let name = try address(.addressablePushRegistration, of: 1, "phone")
        #expect(try bench.registry.apply(deletion(by: 1, [name])) == 0)
        let late = try bench.event(of: 1, Samples.phone("one"), at: 5, device: "phone", id: 1)
        #expect(try bench.registry.apply(late) == .outdated)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 6, device: "phone")).isAccepted)
    }

    @Test func registrationWaitingForItsRootIsDeletedToo() throws {
        let event = try bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))
        _ = try bench.registry.apply(event)
        #expect(try bench.registry.apply(deletion(by: 11, [["e", event.id.hex]])) == 1)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.registry.apply(event) == .ended)
    }

    @Test func requestToVanishRemovesEverythingOlder() throws {
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        let old = try bench.event(of: 1, Samples.phone("old"), device: "old")
        _ = try bench.registry.apply([
            old, bench.event(of: 1, Samples.phone("new"), at: 9, device: "new"),
            bench.event(of: 2, Samples.phone("bob")),
        ])
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("delegated")))
        #expect(try bench.tokens(of: 1) == ["delegated", "new", "old"])
        let vanish = try deletion(by: 1, at: 5, [["relay", "ALL_RELAYS"]], kind: .requestToVanish)
        #expect(try bench.registry.apply(vanish) == 2)
        #expect(try bench.tokens(of: 1) == ["new"])
        #expect(try bench.tokens(of: 2) == ["bob"])
        #expect(try bench.registry.apply(old) == .outdated)
        #expect(try !bench.registry.speaks(bench.key(11), for: bench.key(1)))
        #expect(try bench.registry.apply(vanish) == 0)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("old"), at: 6, device: "old")).isAccepted)
    }

    @Test func futureDeletionIsRefused() throws {
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let tags = [try address(.pushRegistration, of: 1)]
        #expect(try bench.registry.apply(deletion(by: 1, at: 601, tags)) == nil)
        #expect(try bench.tokens(of: 1) == ["one"])
    }
}
