import Core
import Nostr
import Registry
import Testing

@testable import Relays

struct RelaysOfUsersTests {
    @Test func relaySpellingsAreEquivalent() throws {
        let bench = try WatchBench(always: ["wss://Always.example:443/"])
        try bench.begin()
        bench.put(
            .sample(
                1,
                readRelays: [
                    "wss://one.example", "WSS://ONE.example/", "wss://one.example:443", "wss://always.example",
                ],
                messageRelays: ["wss://one.example/"]
            )
        )
        #expect(bench.relays.relays == ["wss://always.example", "wss://one.example"])
        #expect(bench.relays.operators == ["wss://always.example"])
        #expect(bench.relays.changes == 2)
    }

    @Test func unusableRelaysAreOmitted() throws {
        let bench = try WatchBench()
        try bench.begin()
        bench.put(
            .sample(
                1,
                readRelays: [
                    "", "wss://", "https://one.example", "wss://user@one.example", "wss://one.example/ x",
                    "wss://\(String(repeating: "a", count: 260)).example", "ws://0x7f.1", "wss://good.example",
                ]
            )
        )
        #expect(bench.relays.relays == ["wss://good.example"])
    }

    @Test func blockedRelaysAreDisconnectedUntilUnblocked() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        bench.watch.block(BlockedRelays([try #require(RelayPattern("first.example"))]))
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example", "wss://a.bad.example", "wss://first.example"]))
        #expect(bench.relays.relays == ["wss://a.bad.example", "wss://always.example", "wss://one.example"])
        let patterns = try ["*.bad.example", "always.example"].map { try #require(RelayPattern($0)) }
        bench.watch.block(BlockedRelays(patterns))
        bench.time.pass(.seconds(1))
        #expect(bench.relays.relays == ["wss://always.example", "wss://first.example", "wss://one.example"])
        bench.watch.block(BlockedRelays())
        bench.time.pass(.seconds(1))
        #expect(bench.relays.relays.count == 4)
    }

    @Test func tooManyRelaysAreReducedFromBothLists() throws {
        let bench = try WatchBench()
        try bench.begin()
        bench.put(
            .sample(
                1,
                readRelays: (1...30).map { "wss://read\($0).example" },
                messageRelays: ["wss://dm1.example", "wss://dm2.example"]
            )
        )
        #expect(bench.relays.relays.count == 8)
        #expect(bench.relays.relays.filter { $0.hasPrefix("wss://dm") } == ["wss://dm1.example", "wss://dm2.example"])
        #expect(bench.relays.relays.contains("wss://read1.example"))
    }

    @Test func oneHostGetsFewSlotsInAllSpellings() throws {
        let bench = try WatchBench { $0.relaysPerHost = 3 }
        try bench.begin()
        for number in 1...3 {
            let texts = ["/\(number)", "/?\(number)", ":\(number)"].map { "wss://victim.example" + $0 }
            bench.put(.sample(number, readRelays: texts + ["wss://other\(number).example"]))
        }
        #expect(bench.relays.relays.count == 6)
        #expect(bench.relays.relays.filter { $0.contains("victim") }.count == 3)
        // Freed places go to other relays, first to those that the most accounts name.
        bench.remove(.sample(1))
        bench.put(.sample(4, readRelays: ["wss://victim.example/popular"]))
        bench.put(.sample(5, readRelays: ["wss://victim.example/popular"]))
        bench.time.pass(.hours(1))
        #expect(bench.relays.relays.filter { $0.contains("victim") }.count == 3)
        #expect(bench.relays.relays.contains("wss://victim.example/popular"))
    }

    @Test(arguments: [
        (RelaySource.nip65, ["wss://dm.example", "wss://registered.example"]),
        (.registration, ["wss://registered.example"]),
        (.none, []),
    ])
    func configurationDecidesWhichRelayListsCount(source: RelaySource, relays: [String]) throws {
        let bench = try WatchBench { $0.perUser = source }
        try bench.begin()
        bench.put(
            .sample(
                1,
                relays: ["wss://registered.example"],
                readRelays: ["wss://read.example"],
                messageRelays: ["wss://dm.example"]
            )
        )
        #expect(bench.relays.relays == relays)
    }

    @Test func mostNamedRelaysAreWatched() throws {
        let bench = try WatchBench(always: ["wss://always.example"]) { $0.maxRelays = 2 }
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://lonely1.example", "wss://lonely2.example"]))
        bench.put(.sample(2, readRelays: ["wss://common.example"]))
        // They were counted: no relay is named by more accounts than another, so that those stay that came first.
        #expect(bench.relays.relays == ["wss://always.example", "wss://lonely1.example", "wss://lonely2.example"])
        bench.put(.sample(3, readRelays: ["wss://popular.example"]))
        bench.put(.sample(4, readRelays: ["wss://popular.example", "wss://common.example"]))
        #expect(bench.relays.relays(of: .sample(3)) == ["wss://always.example"])
        bench.time.pass(.hours(1))
        #expect(bench.relays.relays == ["wss://always.example", "wss://common.example", "wss://popular.example"])
        #expect(bench.relays.relays(of: .sample(1)) == ["wss://always.example"])
        #expect(bench.relays.relays(of: .sample(3)) == ["wss://always.example", "wss://popular.example"])
        bench.remove(.sample(3))
        bench.remove(.sample(4))
        bench.time.pass(.hours(1))
        #expect(bench.relays.relays(of: .sample(1)).count == 2)
        try bench.restart()
        #expect(bench.relays.relays.count == 3)
    }
}

struct RelayCountsTests {
    @Test func relayNamedByManyOutranksRelaysNamedByOne() throws {
        let common = try #require(RelayURL("wss://common.example"))
        var counts = RelayCounts(room: 100)
        for index in 0..<10_000 {
            counts.count(try #require(RelayURL("wss://r\(index).example")))
            if index.isMultiple(of: 10) { counts.count(common) }
        }
        #expect(counts.ranked(limit: 1, perHost: 1, preferring: []) == [common])
        #expect(counts.exceeds(1_000))
    }

    @Test func connectedRelaysWinATie() throws {
        let relays = try ["wss://a.example", "wss://b.example", "wss://c.example"].map { try #require(RelayURL($0)) }
        var counts = RelayCounts(room: 10)
        for relay in relays { counts.count(relay) }
        #expect(counts.ranked(limit: 2, perHost: 1, preferring: [relays[2]]) == [relays[2], relays[0]])
        #expect(counts.exceeds(2))
        #expect(!counts.exceeds(3))
    }
}
