import Core
import Pipeline
import Testing
import TimeTestSupport

@testable import CarillonRouter

@Suite struct RefusalTallyTests {
    @Test func refusalReasonIsLoggedImmediatelyAndThenOnceAMinute() {
        var tally = RejectTally()
        var told: [[PipelineStep: Int]] = []
        for second in 0...125 {
            told.append(tally.add([.forged: 1_000, .queued: 3], now: Timestamp(seconds: Int64(second))))
        }
        #expect(told[0] == [.forged: 1_000])
        #expect(told[60] == [.forged: 60_000])
        #expect(told[120] == [.forged: 60_000])
        #expect(told.count { !$0.isEmpty } == 3)
    }

    @Test func reasonsDoNotWaitForEachOther() {
        var tally = RejectTally()
        #expect(tally.add([.forged: 1], now: 0) == [.forged: 1])
        #expect(tally.add([.forged: 2, .malformed: 1], now: 10) == [.malformed: 1])
        #expect(tally.add([:], now: 60_000) == [.forged: 2])
        #expect(tally.add([:], now: 200_000).isEmpty)
    }

    @Test func clockThatJumpsBackSuppressesNoReport() {
        var tally = RejectTally()
        _ = tally.add([.forged: 1], now: 1_000_000)
        #expect(tally.add([.forged: 1], now: 10) == [.forged: 1])
    }
}
