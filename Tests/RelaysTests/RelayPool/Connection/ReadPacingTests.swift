import Core
import Testing
import TimeTestSupport

@testable import Relays

@Suite struct ReadPacingTests {
    private var pacing = ReadPacing()
    private var now: Deadline = 1_000

    /// Every message concerns an account, unless `wanted` sets another number.
    private mutating func read(_ messages: Int, wanted: Int? = nil, after pause: Int64) {
        now += .milliseconds(pause)
        pacing.noteRead(messages: messages, wanted: wanted ?? messages, now: now)
    }

    @Test mutating func quietRelayIsReadImmediately() {
        for _ in 0..<100 {
            read(1, after: 5)
            #expect(pacing.nextRead(now: now) == nil)
        }
    }

    @Test mutating func fewEventsAreReadImmediately() {
        for _ in 0..<20 {
            for _ in 0..<7 { read(1, after: 1) }
            #expect(pacing.nextRead(now: now) == nil)
            read(1, after: 1_000)
        }
    }

    @Test mutating func busyRelaysEventsAreReadTogether() {
        for _ in 0..<9 { read(1, after: 1) }
        // It is 1,009 ms; all busy relays are read at the same moments.
        #expect(pacing.nextRead(now: now) == 1_010)
        #expect(pacing.nextRead(now: 1_010) == nil)
        for tick in 1...10 {
            read(20, after: tick == 1 ? 1 : 10)
            #expect(pacing.nextRead(now: now) == now + ReadPacing.pause)
            #expect(pacing.nextRead(now: now + .milliseconds(4)) == now + ReadPacing.pause)
        }
        // It has calmed down.
        read(1, after: 10)
        #expect(pacing.nextRead(now: now) == nil)
    }

    @Test mutating func relayWithFewRelevantEventsIsReadLessOften() {
        for _ in 0..<9 { read(1, wanted: 0, after: 1) }
        #expect(now == 1_009)
        #expect(pacing.nextRead(now: now) == 1_020)
        #expect(pacing.nextRead(now: 1_020) == nil)
        read(20, wanted: 0, after: 11)
        // Two of 49 are no longer hardly any. The moments of both kinds are shared.
        read(20, wanted: 2, after: 20)
        #expect(now == 1_040)
        #expect(pacing.nextRead(now: now) == 1_050)
        // If only a few of many messages concern an account, the relay is read less often again.
        for _ in 0..<4 { read(20, wanted: 0, after: 10) }
        #expect(now == 1_080)
        #expect(pacing.nextRead(now: now) == 1_100)
    }

    @Test mutating func relevanceIsForgottenOverTime() {
        for _ in 0..<20 { read(100, wanted: 100, after: 1) }
        #expect(pacing.nextRead(now: now) == 1_030)
        for _ in 0..<200 { read(100, wanted: 0, after: 1) }
        #expect(now == 1_220)
        #expect(pacing.nextRead(now: now) == 1_240)
    }

    @Test mutating func relayReadLessOftenReturnsToNormal() {
        for _ in 0..<9 { read(1, wanted: 0, after: 1) }
        read(1, wanted: 0, after: 11)
        #expect(pacing.nextRead(now: now) == nil)
    }

    @Test mutating func lateReadKeepsTheSchedule() {
        for _ in 0..<9 { read(1, after: 1) }
        read(20, after: 7)
        #expect(now == 1_016)
        #expect(pacing.nextRead(now: now) == 1_020)
    }

    @Test mutating func shortWaitWithFewEventsIsIgnored() {
        for _ in 0..<9 { read(1, after: 1) }
        read(0, after: 1)
        #expect(pacing.nextRead(now: now) == 1_020)
    }

    @Test mutating func manyBufferedEventsAreReadWithoutAPause() {
        for _ in 0..<9 { read(1, after: 1) }
        read(500, after: 10)
        #expect(pacing.nextRead(now: now) == nil)
        // The remaining messages of the burst do not make the relay a quiet one.
        read(1, after: 1)
        #expect(pacing.nextRead(now: now) == 1_030)
    }
}
