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
            #expect(pacing.wait(now: now) == nil)
        }
    }

    @Test mutating func aFewEventsAtATimeAreReadAtOnce() {
        for _ in 0..<20 {
            for _ in 0..<7 { read(1, after: 1) }
            #expect(pacing.wait(now: now) == nil)
            read(1, after: 1_000)
        }
    }

    @Test mutating func whatABusyRelaySaysIsReadTogether() {
        for _ in 0..<9 { read(1, after: 1) }
        #expect(pacing.wait(now: now) == ReadPacing.pause)
        #expect(pacing.wait(now: now + .milliseconds(4)) == ReadPacing.pause - .milliseconds(4))
        #expect(pacing.wait(now: now + ReadPacing.pause) == nil)
        for _ in 0..<10 {
            read(20, after: 10)
            #expect(pacing.wait(now: now) == ReadPacing.pause)
        }
        // It has calmed down.
        read(1, after: 10)
        #expect(pacing.wait(now: now) == nil)
    }

    @Test mutating func muchThatWaitsIsReadWithoutAPause() {
        for _ in 0..<9 { read(1, after: 1) }
        read(500, after: 10)
        #expect(pacing.wait(now: now) == nil)
        // What is left of it does not make the relay a calm one.
        read(1, after: 1)
        #expect(pacing.wait(now: now) == ReadPacing.pause)
    }
}
