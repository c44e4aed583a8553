import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Kind 10050 as a plain NIP-17 app rewrites it, without any devices.
struct DeviceGraceTests {
    private static let day: Int64 = 86_400
    private let bench: Bench

    init() throws {
        bench = try Bench()
        let registration = try bench.event(ofDevice: 11, for: 1, Samples.phone("phone"))
        _ = try bench.registry.apply(registration)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11]))
    }

    private func plainList(at seconds: Int64) throws -> Event {
        try bench.deviceList(of: 1, relays: ["wss://inbox.example"], at: seconds)
    }

    private func pass(to seconds: Int64) { bench.clock.time = Bench.time(seconds) }

    @Test func devicesStayForSevenDaysAfterTheListThatNamedThem() throws {
        var index = try bench.registry.load()
        let device = try #require(try bench.registry.devices().first?.device)
        #expect(try bench.registry.listing(of: device)?.countsUntil == nil)
        pass(to: Self.day)
        #expect(try bench.registry.learn(plainList(at: Self.day)) == .learned)
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [device])
        #expect(try bench.registry.speaks(bench.key(11), for: bench.key(1)))
        #expect(try bench.registry.listing(of: device)?.countsUntil == Bench.time(7 * Self.day))
        // Another such list does not extend the period.
        pass(to: 6 * Self.day)
        _ = try bench.registry.learn(plainList(at: 6 * Self.day))
        pass(to: 7 * Self.day - 1)
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [device])
        pass(to: 7 * Self.day)
        #expect(try !bench.registry.speaks(bench.key(11), for: bench.key(1)))
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [])
        let waiting = try bench.registry.waitingRegistrations(for: bench.key(1))
        #expect(waiting.map(\.slot.author) == [try bench.key(11)])
        // It comes back with the next list that names it.
        pass(to: 8 * Self.day)
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: 8 * Self.day))
        #expect(try bench.tokens(of: 1) == ["phone"])
        #expect(try bench.registry.devices().map(\.countsUntil) == [nil])
    }

    @Test func newListThatNamesDevicesEndsTheGrace() throws {
        pass(to: Self.day)
        _ = try bench.registry.learn(plainList(at: Self.day))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], at: Self.day + 1))
        var index = try bench.registry.load()
        pass(to: 30 * Self.day)
        bench.registry.update(&index)
        #expect(try bench.tokens(of: 1) == ["phone"])
    }

    @Test func theGraceOutlivesARestart() throws {
        pass(to: Self.day)
        _ = try bench.registry.learn(plainList(at: Self.day))
        try bench.reopen()
        var index = try bench.registry.load()
        #expect(try bench.tokens(of: 1) == ["phone"])
        // A device that registers again until then is still known.
        #expect(
            try bench.registry.apply(bench.event(ofDevice: 11, for: 1, Samples.phone("new"), at: Self.day)).isAccepted
        )
        #expect(try bench.tokens(of: 1) == ["new"])
        pass(to: 8 * Self.day)
        bench.registry.update(&index)
        #expect(try bench.tokens(of: 1) == [])
    }

    @Test(arguments: [["device"], ["device", ""], ["dm_key"], ["dm_key", String(repeating: "ab", count: 32)]])
    func deviceListWithoutTheKeyRevokesImmediately(tag: [String]) throws {
        let list = try bench.event(of: 1, content: "", at: 1, kind: .deviceList, tags: [["relay", "wss://a"], tag])
        #expect(try bench.registry.learn(list) == .learned)
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.registry.waitingRegistrations().count == 1)
    }

    @Test func listNamingOtherDevicesRevokesImmediatelyEvenAfterAnEmptyOne() throws {
        pass(to: Self.day)
        _ = try bench.registry.learn(plainList(at: Self.day))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [12], at: Self.day + 1))
        #expect(try bench.tokens(of: 1) == [])
    }
}
