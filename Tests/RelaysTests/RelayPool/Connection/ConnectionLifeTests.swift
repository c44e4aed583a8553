import Core
import NIOCore
import NIOPosix
import Testing
import TimeTestSupport

@testable import Relays

struct ConnectionLifeTests {
    private var pauses: ConnectionPauses {
        var pauses = ConnectionPauses()
        pauses.first = .seconds(1)
        pauses.longest = .seconds(8)
        pauses.failuresBeforeRest = 6
        pauses.failuresOfUnknown = 3
        pauses.rest = .seconds(100)
        pauses.proof = .minutes(1)
        return pauses
    }

    private func life() -> ConnectionLife {
        ConnectionLife(pauses: pauses, idle: .milliseconds(500))
    }

    /// Fails immediately; returns the pause that follows.
    private func pause(_ life: inout ConnectionLife, now: Deadline, jitter: Double = 1) throws -> Duration {
        #expect(life.placed() == .open)
        #expect(life.ended(now: now, jitter: jitter) == .nothing)
        let next = try #require(life.nextTick)
        #expect(life.tick(now: next - .milliseconds(1)) == .nothing)
        #expect(life.tick(now: next) == .queue)
        return next - now
    }

    @Test func unneededRelayIsNotConnected() {
        var life = life()
        #expect(life.state == .idle)
        #expect(life.nextTick == nil)
        #expect(life.need(false, now: 0) == .nothing)
        #expect(life.isForgettable)
    }

    @Test func connectionOpensOnceASlotIsFree() {
        var life = life()
        #expect(life.need(true, now: 0) == .queue)
        #expect(life.state == .queued)
        #expect(life.placed() == .open)
        #expect(life.opened(now: 5) == .nothing)
        #expect(life.state == .open(since: 5))
        #expect(life.nextTick == nil)
    }

    @Test func slotNoLongerNeededIsPassedOn() {
        var life = life()
        #expect(life.need(true, now: 0) == .queue)
        #expect(life.need(false, now: 1) == .nothing)
        #expect(life.placed() == .passOn)
    }

    @Test func pausesDoubleUpToALimit() throws {
        var life = life()
        _ = life.set(mayRest: false, now: 0)
        _ = life.need(true, now: 0)
        var now: Deadline = 0
        var seen: [Duration] = []
        for _ in 0..<6 {
            seen.append(try pause(&life, now: now))
            now += seen.last ?? .zero
        }
        #expect(seen.map(\.seconds) == [1, 2, 4, 8, 8, 8])
    }

    @Test func jitterHalvesAPauseAtMost() throws {
        var life = life()
        _ = life.need(true, now: 0)
        #expect(try pause(&life, now: 0, jitter: 0) == .milliseconds(500))
    }

    @Test func newRelayBacksOffSoonerThanAKnownOne() throws {
        var unknown = life()
        _ = unknown.need(true, now: 0)
        var now: Deadline = 0
        for expected in [1, 2, 100, 100] {
            let pause = try pause(&unknown, now: now)
            #expect(pause == .seconds(expected))
            now += pause
        }

        var known = life()
        _ = known.need(true, now: 0)
        _ = known.placed()
        _ = known.opened(now: 0)
        #expect(known.ended(now: 70_000, jitter: 1) == .nothing)
        #expect(known.nextTick == 71_000)
        now = 71_000
        #expect(known.tick(now: now) == .queue)
        for expected in [2, 4, 8, 8, 100] {
            let pause = try pause(&known, now: now)
            #expect(pause == .seconds(expected))
            now += pause
        }
    }

    @Test func relayThatMustNotBackOffIsRetriedImmediately() throws {
        var life = life()
        _ = life.need(true, now: 0)
        #expect(try pause(&life, now: 0) == .seconds(1))
        #expect(try pause(&life, now: 1_000) == .seconds(2))
        #expect(life.placed() == .open)
        #expect(life.ended(now: 3_000, jitter: 1) == .nothing)
        #expect(life.state == .waiting(until: 103_000))
        #expect(life.set(mayRest: true, now: 3_001) == .nothing)
        #expect(life.set(mayRest: false, now: 3_002) == .queue)
        #expect(try pause(&life, now: 4_000) == .seconds(1))
    }

    @Test func onlyALastingConnectionResetsFailures() throws {
        var life = life()
        _ = life.need(true, now: 0)
        #expect(try pause(&life, now: 0) == .seconds(1))
        _ = life.placed()
        _ = life.opened(now: 1_000)
        #expect(life.ended(now: 2_000, jitter: 1) == .nothing)
        #expect(life.nextTick == 4_000)
        #expect(life.tick(now: 4_000) == .queue)
        _ = life.placed()
        _ = life.opened(now: 4_000)
        #expect(life.ended(now: 64_000, jitter: 1) == .nothing)
        #expect(life.nextTick == 65_000)
    }

    @Test func anUnneededConnectionIsClosedAfterAWhile() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        _ = life.opened(now: 0)
        _ = life.need(false, now: 1_000)
        #expect(life.nextTick == 1_500)
        #expect(life.tick(now: 1_499) == .nothing)
        #expect(life.tick(now: 1_500) == .close)
        #expect(life.ended(now: 1_501, jitter: 1) == .nothing)
        #expect(life.state == .idle)
        #expect(life.isForgettable)
    }

    @Test func aConnectionNeededAgainStays() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        _ = life.opened(now: 0)
        _ = life.need(false, now: 1_000)
        _ = life.need(true, now: 1_400)
        #expect(life.nextTick == nil)
        #expect(life.tick(now: 9_000) == .nothing)
    }

    @Test func relayNeededWhileClosingIsReopenedWithoutAPause() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        _ = life.opened(now: 0)
        _ = life.need(false, now: 1_000)
        #expect(life.tick(now: 1_500) == .close)
        #expect(life.need(true, now: 1_501) == .nothing)
        #expect(life.ended(now: 1_502, jitter: 1) == .queue)
    }

    @Test func backoffContinuesWhileUnneeded() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        _ = life.need(false, now: 1)
        #expect(life.ended(now: 2, jitter: 1) == .nothing)
        #expect(!life.isForgettable)
        #expect(life.need(true, now: 3) == .nothing)
        #expect(life.state == .waiting(until: 1_002))
        #expect(life.need(false, now: 4) == .nothing)
        #expect(life.nextTick == 1_002)
        #expect(life.tick(now: 1_002) == .nothing)
        #expect(life.isForgettable)
    }

    @Test func relayThatRefusesUsIsLeftAlone() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        _ = life.opened(now: 0)
        #expect(life.rest(for: .seconds(5), now: 100) == .close)
        #expect(life.ended(now: 110, jitter: 1) == .nothing)
        #expect(life.state == .waiting(until: 5_100))
    }

    @Test func noConnectionIsOpenedAfterTheEnd() {
        var life = life()
        _ = life.need(true, now: 0)
        _ = life.placed()
        #expect(life.stop() == .nothing)
        #expect(life.opened(now: 1) == .close)
        #expect(life.ended(now: 2, jitter: 1) == .nothing)
        #expect(life.state == .over)
        #expect(life.nextTick == nil)
    }
}

struct OpeningPlacesTests {
    private let relays = (0..<5).compactMap { RelayURL("wss://\($0).relay.example") }

    @Test func slotsGoToTheLongestWaiting() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(4).map { places.take($0) } == [true, true, false, false])
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[1]) == relays[3])
        #expect(places.leave(relays[2]) == nil)
        #expect(places.leave(relays[3]) == nil)
        #expect(relays.prefix(3).map { places.take($0) } == [true, true, false])
    }

    @Test func relayThatAsksAgainWaitsOnce() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(2).map { places.take($0) } == [true, true])
        for _ in 0..<3 { #expect(places.take(relays[2]) == false) }
        #expect(places.take(relays[3]) == false)
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[1]) == relays[3])
    }

    @Test func relayHoldsOneSlotAndReturnsOnlyItsOwn() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(3).map { places.take($0) } == [true, true, false])
        #expect(places.take(relays[0]) == true)
        #expect(places.leave(relays[4]) == nil)
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[0]) == nil)
        #expect(places.take(relays[3]) == false)
    }
}

@Suite struct SharedLoopsTests {
    @Test func threadsAreFilledOneAfterTheOther() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        var loops = SharedLoops(relays: 4)
        let threads = (0..<9).map { _ in ObjectIdentifier(loops.next(from: group)) }
        #expect(Set(threads[..<4]).count == 1)
        #expect(Set(threads[4..<8]).count == 1)
        #expect(Set(threads).count == 3)
        try await group.shutdownGracefully()
    }
}
