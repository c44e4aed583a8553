import Core
import Nostr
import Registry
import Testing

@testable import Relays

struct RestartTests {
    @Test func startsEstablishmentAndMarksSurviveARestart() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"], messageKeys: [100]))
        bench.watch.established([.sample(1), .sample(100)], at: try bench.relay("wss://one.example"))
        bench.watch.marked(try bench.relay("wss://one.example"), upTo: WatchBench.start + 5)
        bench.time.pass(.seconds(5))
        bench.time.pass(.hours(1))
        try bench.restart(properly: false)
        let known = try #require(bench.relays.watched(.sample(1), at: "wss://one.example"))
        #expect(known.since == WatchBench.start)
        #expect(known.isEstablished)
        #expect(bench.relays.watched(.sample(100), at: "wss://one.example")?.isEstablished == true)
        #expect(bench.relays.watched(.sample(1), at: "wss://always.example")?.isEstablished == false)
        #expect(bench.watch.mark(of: try bench.relay("wss://one.example")) == WatchBench.start + 5)
        #expect(bench.watch.mark(of: try bench.relay("wss://always.example")) == nil)
    }

    @Test func marksNeverGoBackAndAreWrittenAtTheEnd() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        let relay = try bench.relay("wss://always.example")
        try bench.begin()
        bench.put(.sample(1))
        bench.watch.marked(relay, upTo: 100)
        bench.watch.marked(relay, upTo: 90)
        #expect(bench.watch.mark(of: relay) == 100)
        try bench.restart()
        #expect(bench.watch.mark(of: relay) == 100)
    }

    @Test func unwatchedRelayIsForgottenWithItsMark() throws {
        let bench = try WatchBench()
        let relay = try bench.relay("wss://one.example")
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"]))
        bench.watch.established([.sample(1)], at: relay)
        bench.watch.marked(relay, upTo: WatchBench.start)
        bench.time.pass(.seconds(5))
        bench.put(.sample(1))
        #expect(bench.watch.mark(of: relay) == nil)
        bench.time.pass(.minutes(1))
        bench.put(.sample(1, readRelays: ["wss://one.example"]))
        #expect(bench.relays.watched(.sample(1), at: "wss://one.example")?.isEstablished == false)
        try bench.restart()
        #expect(bench.watch.mark(of: relay) == nil)
    }

    @Test func markInTheFutureIsIgnored() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        let relay = try bench.relay("wss://always.example")
        try bench.begin()
        bench.put(.sample(1))
        bench.watch.marked(relay, upTo: WatchBench.start + 86_400)
        bench.time.pass(.seconds(5))
        #expect(bench.watch.mark(of: relay) == nil)
        try bench.restart()
        #expect(bench.watch.mark(of: relay) == nil)
        bench.watch.marked(relay, upTo: WatchBench.start)
        bench.time.pass(.seconds(5))
        #expect(bench.watch.mark(of: relay) == WatchBench.start)
        try bench.restart(properly: false)
        #expect(bench.watch.mark(of: relay) == WatchBench.start)
    }

    @Test func lastMarkOfAnAbandonedRelayIsNotKept() throws {
        let bench = try WatchBench()
        let relay = try bench.relay("wss://one.example")
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"]))
        bench.put(.sample(1))
        bench.watch.marked(relay, upTo: WatchBench.start)
        bench.time.pass(.seconds(5))
        #expect(bench.watch.mark(of: relay) == nil)
    }

    @Test func operatorsRelaysComeAndGoBetweenStarts() throws {
        let bench = try WatchBench(always: ["wss://one.example", "wss://two.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://two.example"]))
        bench.put(.sample(2))
        bench.watch.established([.sample(1), .sample(2)], at: try bench.relay("wss://two.example"))
        bench.time.pass(.minutes(1))
        bench.configuration.always = [try bench.relay("wss://one.example"), try bench.relay("wss://three.example")]
        try bench.restart()
        #expect(
            bench.relays.relays(of: .sample(1)) == ["wss://one.example", "wss://three.example", "wss://two.example"]
        )
        #expect(bench.relays.relays(of: .sample(2)) == ["wss://one.example", "wss://three.example"])
        #expect(bench.relays.operators == ["wss://one.example", "wss://three.example"])
        #expect(bench.relays.watched(.sample(2), at: "wss://one.example")?.since == WatchBench.start)
        #expect(bench.relays.watched(.sample(2), at: "wss://three.example")?.since == WatchBench.start + 60)
        // It was the operator's before, and the account wants it still.
        #expect(bench.relays.watched(.sample(1), at: "wss://two.example")?.isEstablished == true)
        bench.configuration.always = []
        try bench.restart()
        #expect(bench.relays.relays == ["wss://two.example"])
        #expect(try bench.registry.readWatch { try $0.watchRelays() }.map(\.url) == ["wss://two.example"])
    }

    @Test func changesWhileTheRouterWasDownAreFoundAtTheStart() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        try bench.begin()
        bench.put(.sample(1, readRelays: ["wss://one.example"], messageKeys: [100]))
        bench.put(.sample(2))
        bench.put(.sample(3, messageKeys: [100]))
        bench.watch.shutdown()
        bench.accounts[.sample(1)] = .sample(1, readRelays: ["wss://two.example"], messageKeys: [101])
        bench.accounts[.sample(2)] = nil
        bench.accounts[.sample(4)] = .sample(4)
        bench.time.pass(.seconds(1))
        try bench.restart()
        #expect(bench.relays.relays(of: .sample(1)) == ["wss://always.example", "wss://two.example"])
        #expect(bench.relays.relays(of: .sample(101)) == ["wss://always.example", "wss://two.example"])
        #expect(bench.relays.relays(of: .sample(2)).isEmpty)
        #expect(bench.relays.relays(of: .sample(100)) == ["wss://always.example"])
        #expect(bench.relays.relays(of: .sample(4)) == ["wss://always.example"])
        #expect(bench.relays.watched(.sample(3), at: "wss://always.example")?.since == WatchBench.start)
        #expect(bench.relays.watched(.sample(4), at: "wss://always.example")?.since == WatchBench.start + 1)
    }

    @Test func eventsUpToAMarkAreNotReadAgain() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        let relay = try bench.relay("wss://always.example")
        try bench.begin()
        bench.put(.sample(1))
        bench.put(.sample(2))
        bench.watch.established([.sample(1)], at: relay)
        bench.time.pass(.days(1))
        bench.watch.marked(relay, upTo: bench.time.now.seconds)
        let mark = bench.time.now.seconds
        bench.time.pass(.seconds(5))
        try bench.restart()
        let since = try #require(bench.relays.watched(.sample(1), at: "wss://always.example")?.since)
        #expect(since > WatchBench.start + 80_000 && since < mark)
        // This key has not been read yet.
        #expect(bench.relays.watched(.sample(2), at: "wss://always.example")?.since == WatchBench.start)
    }

    @Test func operatorsRelaysKeepMarksBeforeTheFirstRegistration() throws {
        let bench = try WatchBench(always: ["wss://always.example"])
        let relay = try bench.relay("wss://always.example")
        try bench.begin()
        bench.watch.marked(relay, upTo: WatchBench.start)
        try bench.restart()
        #expect(bench.watch.mark(of: relay) == WatchBench.start)
    }
}
