import Core
import Nostr
import Registry
import Testing

@testable import Relays

struct AccountWatchTests {
    @Test func accountIsWatchedAtTheOperatorsRelaysAndItsOwn() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.accounts[.sample(1)] = .sample(1, readRelays: ["wss://read.example"], messageRelays: ["wss://dm.example"])
        bench.accounts[.sample(2)] = .sample(2)
        try bench.begin()
        #expect(
            bench.relays.relays(of: .sample(1)) == ["wss://always.example", "wss://dm.example", "wss://read.example"]
        )
        #expect(bench.relays.relays(of: .sample(2)) == ["wss://always.example"])
        #expect(bench.relays.operators == ["wss://always.example"])
        let watched = try #require(bench.relays.watched(.sample(1), at: "wss://read.example"))
        #expect(watched.interest == [.addressed, .authored])
        #expect(watched.since == WatchBench.start)
        #expect(!watched.isEstablished)
    }

    @Test func newRegistrationCountsFromItsOwnTime() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, registeredAt: WatchBench.start - 599))
        bench.put(.sample(2, registeredAt: WatchBench.start - 600))
        bench.put(.sample(3, registeredAt: WatchBench.start + 300))
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.since == WatchBench.start - 599)
        #expect(bench.relays.watched(.sample(2), at: "wss://always.example")?.since == WatchBench.start)
        #expect(bench.relays.watched(.sample(3), at: "wss://always.example")?.since == WatchBench.start)
    }

    @Test func changedRelayListChangesOnlyItsRelays() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example", "wss://two.example"]))
        let changes = bench.relays.changes
        bench.time.pass(.minutes(1))
        bench.put(.sample(1, readRelays: ["wss://two.example", "wss://three.example"]))
        #expect(
            bench.relays.relays(of: .sample(1)) == ["wss://always.example", "wss://three.example", "wss://two.example"]
        )
        #expect(bench.relays.changes - changes == 2)
        #expect(bench.relays.watched(.sample(1), at: "wss://two.example")?.since == WatchBench.start)
        #expect(bench.relays.watched(.sample(1), at: "wss://three.example")?.since == WatchBench.start + 60)
        bench.put(.sample(1, readRelays: ["wss://two.example", "wss://three.example"]))
        #expect(bench.relays.changes - changes == 2)
    }

    @Test func deregisteredAccountIsNotWatched() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"], messageKeys: [100]))
        bench.put(.sample(2, readRelays: ["wss://one.example"]))
        bench.remove(.sample(1))
        #expect(bench.relays.relays(of: .sample(1)).isEmpty)
        #expect(bench.relays.relays(of: .sample(100)).isEmpty)
        #expect(bench.relays.relays(of: .sample(2)) == ["wss://always.example", "wss://one.example"])
        bench.remove(.sample(2))
        #expect(bench.relays.relays.isEmpty)
        #expect(try bench.registry.readWatch { try $0.watchRelays() }.map(\.url) == ["wss://always.example"])
    }

    @Test func aMessageKeyIsWatchedUntilItsGraceEnds() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, messageRelays: ["wss://dm.example"], messageKeys: [100]))
        #expect(bench.relays.watched(.sample(100), at: "wss://dm.example")?.interest == .addressed)
        bench.time.pass(.seconds(1))
        bench.put(.sample(1, messageRelays: ["wss://dm.example"], messageKeys: [101, 100]))
        #expect(bench.relays.relays(of: .sample(100)) == ["wss://always.example", "wss://dm.example"])
        #expect(bench.relays.watched(.sample(101), at: "wss://dm.example")?.since == WatchBench.start + 1)
        bench.put(.sample(1, messageRelays: ["wss://dm.example"], messageKeys: [101]))
        #expect(bench.relays.relays(of: .sample(100)).isEmpty)
        #expect(bench.relays.relays(of: .sample(101)) == ["wss://always.example", "wss://dm.example"])
    }

    @Test func claimOfAnotherAccountsKeyDoesNotStopItsWatch() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"], messageKeys: [100]))
        bench.watch.established([.sample(1), .sample(100)], at: try bench.relay("wss://always.example"))
        bench.time.pass(.minutes(1))
        // The second account lists the first account's keys as its own, and leaves.
        bench.put(.sample(2, readRelays: ["wss://two.example"], messageKeys: [1, 100]))
        #expect(bench.relays.watched(.sample(1), at: "wss://two.example")?.interest == .addressed)
        try bench.restart()
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.interest == [.addressed, .authored])
        #expect(bench.relays.watched(.sample(100), at: "wss://always.example")?.isEstablished == true)
        bench.remove(.sample(2))
        #expect(bench.relays.relays(of: .sample(1)) == ["wss://always.example", "wss://one.example"])
        #expect(bench.relays.relays(of: .sample(100)) == ["wss://always.example", "wss://one.example"])
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.interest == [.addressed, .authored])
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.since == WatchBench.start)
    }

    @Test func claimedKeyStaysWatched() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(2, messageKeys: [1]))
        bench.put(.sample(1))
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.interest == [.addressed, .authored])
        bench.remove(.sample(1))
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.interest == .addressed)
        bench.remove(.sample(2))
        #expect(bench.relays.relays(of: .sample(1)).isEmpty)
    }

    @Test func keyClaimedBeforeItsRegistrationHidesNoLists() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(2, messageKeys: [1]))
        bench.watch.established([.sample(1)], at: try bench.relay("wss://always.example"))
        bench.put(.sample(1))
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.isEstablished == false)
        #expect(bench.accounts.followsRead.isEmpty)
        bench.watch.established([.sample(1)], at: try bench.relay("wss://always.example"))
        bench.time.pass(.milliseconds(200))
        #expect(bench.accounts.followsRead == [.sample(1)])
    }

    @Test func rootsOfInterestAreReadForTheirListsOnly() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.accounts.roots = [.sample(7)]
        try bench.begin()
        #expect(bench.relays.watched(.sample(7), at: "wss://always.example")?.interest == .authored)
        bench.accounts.roots = [.sample(8)]
        bench.watch.changed([.sample(7), .sample(8)])
        bench.time.pass(.milliseconds(200))
        #expect(bench.relays.relays(of: .sample(7)).isEmpty)
        #expect(bench.relays.watched(.sample(8), at: "wss://always.example")?.interest == .authored)
    }

    @Test func aRootThatRegistersIsReadFromThenOn() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.accounts.roots = [.sample(7)]
        try bench.begin()
        bench.watch.established([.sample(7)], at: try bench.relay("wss://always.example"))
        bench.time.pass(.minutes(1))
        bench.accounts.roots = []
        bench.put(.sample(7))
        let watched = try #require(bench.relays.watched(.sample(7), at: "wss://always.example"))
        #expect(watched.interest == [.addressed, .authored])
        #expect(watched.since == WatchBench.start + 60)
        #expect(!watched.isEstablished)
    }

    @Test func partnersListsAreReadAtTheAccountsRelays() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.accounts.roots = [.sample(50)]
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"], partners: [50]))
        #expect(bench.relays.watched(.sample(50), at: "wss://one.example")?.interest == .authored)
        #expect(bench.relays.relays(of: .sample(50)) == ["wss://always.example", "wss://one.example"])
        bench.put(.sample(1, readRelays: ["wss://one.example"]))
        #expect(bench.relays.relays(of: .sample(50)) == ["wss://always.example"])
    }

    @Test func burstOfChangesIsProcessedOnce() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        for seed in 1...100 {
            bench.accounts[.sample(seed)] = .sample(seed, readRelays: ["wss://one.example"])
            bench.watch.changed([.sample(seed)])
            bench.watch.changed([.sample(seed)])
        }
        bench.time.pass(.milliseconds(199))
        #expect(bench.relays.calls == 0)
        bench.time.pass(.milliseconds(1))
        #expect(bench.relays.calls == 2)
        #expect(bench.relays.changes == 200)
    }

    @Test func failedReadIsRetried() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.accounts.fail(1)
        bench.put(.sample(1))
        #expect(bench.relays.relays.isEmpty)
        bench.time.pass(.seconds(10))
        #expect(bench.relays.relays(of: .sample(1)) == ["wss://always.example"])
    }

    @Test func changesBeforeTheStartAreNotLost() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.put(.sample(1))
        #expect(bench.relays.calls == 0)
        bench.accounts[.sample(1)] = nil
        try bench.begin()
        bench.accounts[.sample(1)] = .sample(1)
        bench.time.pass(.milliseconds(200))
        #expect(bench.relays.relays(of: .sample(1)) == ["wss://always.example"])
    }

    @Test func contactListsCountAsReadWhenAnAccountIsEstablished() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.accounts.roots = [.sample(7)]
        bench.accounts[.sample(1)] = .sample(1, messageKeys: [100])
        try bench.begin()
        bench.watch.established([.sample(1), .sample(7), .sample(100)], at: try bench.relay("wss://always.example"))
        bench.watch.established([.sample(1)], at: try bench.relay("wss://unknown.example"))
        bench.time.pass(.milliseconds(200))
        #expect(bench.accounts.followsRead == [.sample(1)])
    }
}
