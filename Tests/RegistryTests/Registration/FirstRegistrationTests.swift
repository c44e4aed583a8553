import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// A device's registration time: events older than that do not notify it.
struct FirstRegistrationTests {
    @Test func deviceThatRegistersAgainKeepsItsFirstRegistration() throws {
        let bench = try Bench()
        var index = try bench.registry.load()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        for (seconds, token) in [(600, "one"), (3600, "another")] as [(Int64, String)] {
            bench.clock.time = Bench.time(seconds)
            _ = try bench.registry.apply(bench.event(of: 1, Samples.phone(token), at: seconds))
            let address = try bench.registry.address(of: DeviceID(rawValue: 1))
            #expect(address?.registeredAt == Bench.time(seconds))
            #expect(address?.token == token)
        }
        bench.registry.update(&index)
        #expect(try since(1, bench, in: index) == [0])
        try bench.reopen()
        #expect(try since(1, bench, in: bench.registry.load()) == [0])
        #expect(try bench.registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start)
    }

    @Test func everySlotHasItsOwnRegistrationTime() throws {
        let bench = try Bench()
        bench.clock.advance(by: .seconds(100))
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one"), at: 50),
            bench.event(of: 1, Samples.phone("two"), at: 20, device: "b"),
            bench.event(of: 1, Samples.phone("one"), at: 90),
        ])
        #expect(try since(1, bench, in: bench.registry.load()) == [20, 50])
        #expect(try bench.registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start + 20)
    }

    @Test func deviceThatLeavesAndReturnsStartsAgain() throws {
        let bench = try Bench()
        bench.clock.advance(by: .seconds(1000))
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one")), bench.event(of: 1, "", at: 10),
            bench.event(of: 1, Samples.phone("one"), at: 20),
        ])
        #expect(try since(1, bench, in: bench.registry.load()) == [20])
        try bench.registry.removeGone(DeviceID(rawValue: 2), registeredAt: .distantFuture)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 30))
        #expect(try since(1, bench, in: bench.registry.load()) == [30])
    }

    @Test func deviceThatLostItsTokenStartsAgain() throws {
        let bench = try Bench()
        bench.clock.advance(by: .seconds(1000))
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("phone")), bench.event(of: 2, Samples.phone("phone"), at: 10),
            bench.event(of: 1, Samples.phone("phone"), at: 20),
        ])
        #expect(try since(1, bench, in: bench.registry.load()) == [20])
        #expect(try since(2, bench, in: bench.registry.load()) == [])
    }

    @Test func revokedDeviceThatIsListedAgainStartsAgain() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("root's own")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        bench.clock.advance(by: .hours(1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [12], at: 3600))
        bench.clock.advance(by: .minutes(1))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 3660))
        #expect(try bench.tokens(of: 1) == ["phone", "root's own"])
        #expect(try since(1, bench, in: bench.registry.load()) == [0, 3660])
    }

    @Test func underAnotherRootItIsAnotherDevice() throws {
        let bench = try Bench()
        bench.clock.advance(by: .seconds(100))
        for root in [1, 2] as [UInt8] {
            _ = try bench.registry.apply(bench.event(of: root, Samples.phone("root \(root)"), at: 5))
            _ = try bench.registry.learn(bench.deviceList(of: root, devices: [11]))
        }
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("phone")))
        _ = try bench.registry.apply(bench.event(ofDevice: 11, for: 2, Samples.phone("phone"), at: 30))
        #expect(try since(2, bench, in: bench.registry.load()) == [5, 30])
    }

    @Test func followBeforeTheLastRegistrationCounts() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        bench.clock.advance(by: .minutes(1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 60))
        let list = ContactList(
            author: try bench.key(9),
            named: [try bench.key(1)],
            createdAt: Bench.start + 30
        )
        #expect(try bench.registry.newFollows(list, seen: .direct) == [bench.key(1)])
    }

    /// The beginnings of an account's devices, in seconds after ``Bench/start``.
    private func since(_ account: UInt8, _ bench: Bench, in index: borrowing MatchIndex) throws -> [Int64] {
        var beginnings: [Int64] = []
        if let number = index.account(of: try bench.key(account)) {
            index.forEachDevice(of: number) { beginnings.append($0.firstRegisteredAt.seconds - Bench.start) }
        }
        return beginnings.sorted()
    }
}
