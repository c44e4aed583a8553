import Testing
import TimeTestSupport
import Units

@testable import RelayPool

@Suite struct ReadPacingTests {
    private var pacing = ReadPacing()
    private var now: Deadline = 1_000

    private mutating func read(_ messages: Int, after pause: Int64) {
        now += .milliseconds(pause)
        pacing.noteRead(messages: messages, now: now)
    }

    @Test mutating func aQuietRelayIsReadAtOnce() {
        for _ in 0..<100 {
            read(1, after: 5)
            #expect(pacing.nextRead(now: now) == nil)
        }
    }

    @Test mutating func aFewEventsAtATimeAreReadAtOnce() {
        for _ in 0..<20 {
            for _ in 0..<7 { read(1, after: 1) }
            #expect(pacing.nextRead(now: now) == nil)
            read(1, after: 1_000)
        }
    }

    @Test mutating func whatABusyRelaySaysIsReadTogether() {
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

    @Test mutating func aLateReadDoesNotMoveTheMoments() {
        for _ in 0..<9 { read(1, after: 1) }
        read(20, after: 7)
        #expect(now == 1_016)
        #expect(pacing.nextRead(now: now) == 1_020)
    }

    @Test mutating func littleThatCameInAShortWaitSaysNothing() {
        for _ in 0..<9 { read(1, after: 1) }
        read(0, after: 1)
        #expect(pacing.nextRead(now: now) == 1_020)
    }

    @Test mutating func muchThatWaitsIsReadWithoutAPause() {
        for _ in 0..<9 { read(1, after: 1) }
        read(500, after: 10)
        #expect(pacing.nextRead(now: now) == nil)
        // What is left of it does not make the relay a calm one.
        read(1, after: 1)
        #expect(pacing.nextRead(now: now) == 1_030)
    }
}
