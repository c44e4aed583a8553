import Core
import Nostr
import Registry
import Testing

@testable import Relays

struct HintsTests {
    private static let always = "wss://always.example"
    private static let hour = Duration.hours(1)

    private func bench(_ policy: HintPolicy, partners: [Int] = [50]) throws -> WatchBench {
        let bench = try WatchBench(always: [Self.always]) { $0.hints = policy }
        try bench.begin()
        bench.put(.sample(1, messageKeys: [100], partners: partners))
        bench.watch.established([.sample(1), .sample(100)], at: try bench.relay(Self.always))
        bench.time.pass(.seconds(1))
        return bench
    }

    private func hint(_ bench: WatchBench, partner: Int = 50) {
        bench.watch.heard(account: .sample(1), partner: .sample(partner), at: bench.time.now)
        bench.time.pass(.milliseconds(200))
    }

    @Test(arguments: [HintPolicy.ignore, .also])
    func hintsAreIgnoredUnlessPreferred(policy: HintPolicy) throws {
        let bench = try bench(policy)
        let changes = bench.relays.changes
        hint(bench)
        #expect(bench.relays.changes == changes)
    }

    @Test func accountWithAnActivePartnerIsNotWatched() throws {
        let bench = try bench(.prefer)
        hint(bench)
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == .authored)
        #expect(bench.relays.watched(.sample(100), at: Self.always) == nil)
    }

    @Test func silentPartnersRestoreTheWatch() throws {
        let bench = try bench(.prefer)
        bench.time.pass(.minutes(1))
        let lastHint = bench.time.now.seconds
        hint(bench)
        bench.time.pass(Self.hour - .seconds(1))
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == .authored)
        bench.time.pass(.seconds(1))
        let watched = try #require(bench.relays.watched(.sample(1), at: Self.always))
        #expect(watched.interest == [.addressed, .authored])
        #expect(watched.since == lastHint)
        #expect(watched.isEstablished)
        let messages = try #require(bench.relays.watched(.sample(100), at: Self.always))
        #expect(messages.since == lastHint)
        #expect(messages.isEstablished)
    }

    @Test func everyHintExtendsThePartnersTimeout() throws {
        let bench = try bench(.prefer)
        let changes = bench.relays.changes
        for _ in 1...20 {
            hint(bench)
            bench.time.pass(Self.hour / 2)
        }
        #expect(bench.relays.changes == changes + 2)
        let lastHint = (bench.time.now - Self.hour / 2 - .milliseconds(200)).seconds
        bench.time.pass(Self.hour)
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.since == lastHint)
    }

    @Test func deviceIsNotLeftToAnotherDevicesPartners() throws {
        let bench = try bench(.prefer, partners: [50, 51])
        hint(bench, partner: 50)
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == [.addressed, .authored])
        hint(bench, partner: 51)
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == .authored)
        bench.time.pass(Self.hour / 2)
        hint(bench, partner: 51)
        bench.time.pass(Self.hour / 2)
        let watched = try #require(bench.relays.watched(.sample(1), at: Self.always))
        #expect(watched.interest == [.addressed, .authored])
        // The first device has had no hint since then.
        #expect(watched.since == WatchBench.start + 1)
        hint(bench, partner: 50)
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == .authored)
    }

    @Test func accountThatLeavesItsPartnerIsWatchedAgain() throws {
        let bench = try bench(.prefer)
        hint(bench)
        bench.put(.sample(1, messageKeys: [100], partners: [60]))
        #expect(bench.relays.watched(.sample(1), at: Self.always)?.interest == [.addressed, .authored])
        #expect(bench.relays.watched(.sample(100), at: Self.always)?.isEstablished == true)
    }

    @Test func aRestartAsksRelaysAgainFromTheLastHintOn() throws {
        let bench = try bench(.prefer)
        bench.time.pass(.minutes(1))
        hint(bench)
        bench.time.pass(.minutes(15))
        let lastHint = bench.time.now.seconds
        hint(bench)
        bench.time.pass(.minutes(1))
        try bench.restart(properly: false)
        let watched = try #require(bench.relays.watched(.sample(1), at: Self.always))
        #expect(watched.interest == [.addressed, .authored])
        #expect(watched.since == lastHint)
        #expect(watched.isEstablished)
        #expect(bench.relays.watched(.sample(100), at: Self.always)?.isEstablished == true)
    }

    @Test func unestablishedAccountIsNotLeftToHints() throws {
        let bench = try WatchBench(always: [Self.always]) { $0.hints = .prefer }
        try bench.begin()
        bench.put(.sample(1, partners: [50]))
        hint(bench)
        bench.time.pass(Self.hour)
        let watched = try #require(bench.relays.watched(.sample(1), at: Self.always))
        #expect(watched.interest == [.addressed, .authored])
        #expect(!watched.isEstablished)
    }

    /// A relay's mark moved on for other accounts; an account left to partner processes is read from its last hint on.
    @Test(arguments: [true, false])
    func accountLeftToPartnersIsReadFromTheLastHintWhateverTheMark(isRestarted: Bool) throws {
        let bench = try bench(.prefer)
        let relay = try bench.relay(Self.always)
        let lastHint = bench.time.now.seconds
        hint(bench)
        bench.put(.sample(2))
        bench.time.pass(.minutes(30))
        bench.watch.marked(relay, upTo: bench.time.now.seconds)
        if isRestarted {
            bench.time.pass(.seconds(5))
            try bench.restart(properly: false)
        } else {
            bench.time.pass(.seconds(2_000))
        }
        var reader = ConversationReader()
        reader.read(bench.relays.told(relay), mark: bench.watch.mark(of: relay), now: bench.time.now)
        let since = try #require(reader.oldest(naming: .sample(1)))
        #expect(since <= lastHint)
        #expect(since > lastHint - 7_200)
        #expect(try #require(reader.oldest(naming: .sample(100))) <= lastHint)
    }
}
