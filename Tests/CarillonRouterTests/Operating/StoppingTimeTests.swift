import Testing
import TimeTestSupport
import Units

@testable import CarillonRouter

@Suite struct StoppingTimeTests {
    @Test func stepsTogetherTakeNoMoreThanThereIs() {
        let time = StoppingTime(.seconds(10), now: 1_000)
        #expect(time.part(30, now: 1_000) == .seconds(3))
        #expect(time.allBut(20, now: 1_000) == .seconds(8))
        #expect(time.part(50, now: 9_000) == .seconds(2))
        #expect(time.allBut(20, now: 9_500) == .zero)
        #expect(time.part(15, now: 20_000) == .zero)
    }

    @Test func aClockThatJumpsBackGivesNoMore() {
        #expect(StoppingTime(.seconds(10), now: 50_000).left(now: 0) == .seconds(10))
    }
}
