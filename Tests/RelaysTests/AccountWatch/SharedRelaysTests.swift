import Core
import Nostr
import Registry
import Synchronization
import Testing

@testable import Relays

/// Relays that are shared with other processes: this one reads some, the others the rest.
struct SharedRelaysTests {
    /// The reported marks, by part.
    private final class Told: Sendable {
        private let marks = Mutex<[Int: [String: Int64?]]>([:])

        var all: [Int: [String: Int64?]] { marks.withLock(\.self) }

        func add(_ part: Int, _ new: [RelayURL: Int64?]) {
            marks.withLock { marks in
                for (relay, mark) in new { marks[part, default: [:]].updateValue(mark, forKey: relay.text) }
            }
        }
    }

    private final class Flag: Sendable {
        private let flag = Mutex(false)
        var isSet: Bool { flag.withLock(\.self) }
        func set() { flag.withLock { $0 = true } }
    }

    private static let one = "wss://one.example"
    private static let two = "wss://two.example"
    private let told = Told()

    /// The relay `one` is in part 1, all others are in part 2.
    private func bench(_ change: (inout AccountWatch.Configuration) -> Void = { _ in }) throws -> WatchBench {
        try WatchBench { configuration in
            configuration.sharing = RelaySharing(
                part: { $0.text == Self.one ? 1 : 2 },
                marked: { [told] in told.add($0, $1) }
            )
            change(&configuration)
        }
    }

    @Test func onlyTakenPartsAreWatched() throws {
        let bench = try bench()
        try bench.begin()
        bench.put(.sample(1, readRelays: [Self.one, Self.two]))
        #expect(bench.relays.relays.isEmpty)
        let isTold = Flag()
        bench.watch.take(1, marks: [try bench.relay(Self.one): WatchBench.start - 60]) { isTold.set() }
        #expect(bench.watch.mark(of: try bench.relay(Self.one)) == nil)
        bench.time.pass(.milliseconds(200))
        #expect(isTold.isSet && bench.relays.relays == [Self.one])
        #expect(bench.watch.mark(of: try bench.relay(Self.one)) == WatchBench.start - 60)
        // This includes accounts that register later.
        bench.put(.sample(2, readRelays: [Self.one, Self.two]))
        #expect(bench.relays.relays(of: .sample(2)) == [Self.one])
    }

    @Test func partMayBeTakenBeforeTheStart() throws {
        let bench = try bench()
        bench.accounts[.sample(1)] = .sample(1, readRelays: [Self.one])
        bench.watch.take(1, marks: [:])
        try bench.begin()
        bench.time.pass(.milliseconds(200))
        #expect(bench.relays.relays == [Self.one])
    }

    /// The next reader must not start before this one has reported its progress.
    @Test func leavingMemberReportsHowFarItRead() throws {
        let bench = try bench()
        try bench.begin()
        bench.watch.take(1, marks: [:])
        bench.put(.sample(1, readRelays: [Self.one, Self.two]))
        bench.watch.marked(try bench.relay(Self.one), upTo: WatchBench.start + 1)
        bench.time.pass(.seconds(5))
        #expect(told.all == [1: [Self.one: WatchBench.start + 1]])
        let isLeft = Flag()
        bench.watch.leave(1) { isLeft.set() }
        bench.time.pass(.zero)
        #expect(bench.relays.relays.isEmpty && !isLeft.isSet)
        // The last report of its connection.
        bench.watch.marked(try bench.relay(Self.one), upTo: WatchBench.start + 7)
        bench.relays.closeLeft()
        bench.time.pass(.zero)
        #expect(isLeft.isSet && told.all == [1: [Self.one: WatchBench.start + 7]])
        bench.put(.sample(2, readRelays: [Self.one]))
        #expect(bench.relays.relays.isEmpty)
    }

    @Test func leavingARestingWatchCompletesImmediately() throws {
        let bench = try bench()
        let isLeft = Flag()
        bench.watch.leave(1) { isLeft.set() }
        #expect(isLeft.isSet)
    }

    /// If another process has read the relay for a key, the next reader continues after that, whether or not it had the
    /// key by then.
    @Test func relayReadByAnotherMemberIsNotReadAgain() throws {
        let bench = try bench()
        try bench.begin()
        bench.put(.sample(1, readRelays: [Self.one]))
        try bench.registry.share(
            read: (1...3).map { ReadKey(url: Self.one, key: .sample($0), interest: $0 == 3 ? 2 : 3) },
            forgotten: [],
            asked: WatchInterest.bitsAsked
        )
        bench.put(.sample(2, readRelays: [Self.one]))
        // Its own lists were read, but not events that name it.
        bench.put(.sample(3, readRelays: [Self.one]))
        bench.put(.sample(4, readRelays: [Self.one]))
        bench.watch.take(1, marks: [:])
        bench.time.pass(.milliseconds(200))
        let isEstablished = [1, 2, 3, 4].map { bench.relays.watched(.sample($0), at: Self.one)?.isEstablished }
        #expect(isEstablished == [true, true, false, false])
    }

    @Test func readRelaysAreReportedUntilTheyAreUnwatched() throws {
        let bench = try bench()
        let relay = try bench.relay(Self.one)
        func interest(_ number: Int) throws -> UInt8? {
            try bench.registry.readWatch { try $0.readInterest(of: .sample(number), at: Self.one) }
        }
        try bench.begin()
        bench.watch.take(1, marks: [:])
        bench.put(.sample(1, readRelays: [Self.one]))
        bench.put(.sample(2, readRelays: [Self.one]))
        bench.watch.established([.sample(1)], at: relay)
        bench.time.pass(.milliseconds(200))
        #expect(try interest(1) == 3 && interest(2) == nil)
        bench.remove(.sample(1))
        #expect(try interest(1) == nil)
        // No account needs the relay any longer.
        bench.watch.marked(relay, upTo: WatchBench.start)
        bench.time.pass(.seconds(5))
        bench.remove(.sample(2))
        let none: Int64? = nil
        #expect(told.all == [1: [Self.one: none]])
    }
}
