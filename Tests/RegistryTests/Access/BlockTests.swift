import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// The effects of a block on devices, and of its end.
struct BlockTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func block(_ account: UInt8, until: Int64? = nil) throws {
        try bench.registry.put(
            AccessRule(
                .key(bench.key(account)),
                isBlock: true,
                reason: "spam",
                madeAt: bench.clock.now(),
                until: until.map { Bench.time($0) }
            )
        )
    }

    private func watched(_ account: UInt8) throws -> WatchedAccount? {
        try bench.registry.watchedAccount(bench.key(account))
    }

    @Test func blockedAccountIsRemovedImmediatelyAndRestoredWhole() throws {
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))).isAccepted)
        #expect(try bench.registry.apply(bench.event(of: 2, Samples.phone("two"))).isAccepted)
        var index = try bench.registry.load()
        let device = try #require(bench.devices(of: 1, in: index).first)
        #expect(try bench.registry.address(of: device) != nil)
        _ = bench.reports.take()

        try block(1)
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty && bench.devices(of: 2, in: index).count == 1)
        #expect(try bench.registry.address(of: device) == nil)
        #expect(try watched(1) == nil && watched(2) != nil)
        #expect(try bench.reports.take().contains { try $0.contains(bench.key(1)) })
        // It is still visible to operators.
        #expect(try bench.registry.listing(of: device).map(bench.registry.isBlocked) == true)

        // A restart does not change that.
        try bench.reopen()
        #expect(try bench.tokens(of: 1) == [] && bench.tokens(of: 2) == ["two"])
        let again = try bench.registry.apply(bench.event(of: 1, Samples.phone("new"), at: 9, id: 0x81))
        #expect(again.message == "blocked: this router does not serve this key")

        index = try bench.registry.load()
        let rule = try bench.registry.removeRule(about: .key(bench.key(1)))
        #expect(rule?.reason == "spam")
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index) == [device])
        #expect(try bench.registry.address(of: device)?.token == "one" && watched(1) != nil)
        #expect(try bench.registry.removeRule(about: .key(bench.key(1))) == nil)
    }

    @Test func blockedKeyMayDeregister() throws {
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))).isAccepted)
        try block(1)
        #expect(try bench.registry.apply(bench.event(of: 1, "", at: 5, id: 0x81)) == .deregistered)
    }

    @Test func blockExpiresAutomatically() throws {
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))).isAccepted)
        var index = try bench.registry.load()
        try block(1, until: 60)
        bench.clock.advance(by: .seconds(59))
        try bench.registry.endAccessRules()
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).isEmpty)
        bench.clock.advance(by: .seconds(1))
        try bench.registry.endAccessRules()
        bench.registry.update(&index)
        #expect(try bench.devices(of: 1, in: index).count == 1 && bench.registry.access.rules.isEmpty)
    }

    @Test func aDeviceKeyCanBeBlockedWithoutItsRoot() throws {
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [7])) == .ignored)
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("own"))).isAccepted)
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [7])) == .learned)
        #expect(try bench.registry.apply(bench.event(ofDevice: 7, for: 1, Samples.phone("tablet"))).isAccepted)
        #expect(try bench.tokens(of: 1) == ["own", "tablet"])
        try block(7)
        #expect(try bench.tokens(of: 1) == ["own"])
    }

    @Test func configuredRulesAreAdded() throws {
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))).isAccepted)
        let rule = try AccessRule(.key(bench.key(1)), isBlock: true, madeAt: .epoch, isConfigured: true)
        try block(2)
        try bench.registry.configureAccess(.open, [rule])
        #expect(try bench.tokens(of: 1) == [])
        #expect(bench.registry.access.blockedKeys.count == 2 && bench.registry.access.rules.first == rule)
        try bench.registry.configureAccess(.open, [])
        #expect(try bench.tokens(of: 1) == ["one"])
    }

    @Test func usersAreListedByTheirKeys() throws {
        for account: UInt8 in 1...3 {
            #expect(try bench.registry.apply(bench.event(of: account, Samples.phone("p\(account)"))).isAccepted)
        }
        let topic = try bench.event(of: 2, Samples.topic(), at: 8, device: "tablet", id: 0x81)
        #expect(try bench.registry.apply(topic).isAccepted)
        let all = try bench.registry.users(UserQuery(limit: 10))
        #expect(try Set(all.map(\.account)) == Set((1...3).map { try bench.key($0) }))
        #expect(all.map(\.account) == all.map(\.account).sorted())
        let second = try bench.registry.user(bench.key(2))
        #expect(second.devices.count == 2 && Set(second.routes.map(\.platform)) == ["ios", "ntfy"])
        #expect(try bench.registry.users(UserQuery(platform: "ntfy", limit: 10)).map(\.account) == [bench.key(2)])
        #expect(try bench.registry.users(UserQuery(app: "other", limit: 10)).isEmpty)
        let page = try bench.registry.users(UserQuery(after: all[0].account, limit: 1))
        #expect(page.map(\.account) == [all[1].account])
        // A blocked key is listed with devices and without.
        try block(2)
        try block(9)
        let blocked = try bench.registry.users(UserQuery(isBlocked: true, limit: 10))
        #expect(try Set(blocked.map(\.account)) == [bench.key(2), bench.key(9)])
        #expect(Set(blocked.map(\.devices.count)) == [2, 0])
    }
}
