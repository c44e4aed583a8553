import Testing

@testable import CarillonRouter

@Suite struct StoppingTimeTests {
    @Test func stepsTogetherTakeNoMoreThanThereIs() {
        let time = StoppingTime(seconds: 10, now: 1_000)
        #expect(time.part(30, now: 1_000) == 3_000)
        #expect(time.allBut(20, now: 1_000) == 8_000)
        #expect(time.part(50, now: 9_000) == 2_000)
        #expect(time.allBut(20, now: 9_500) == 0)
        #expect(time.part(15, now: 20_000) == 0)
    }

    @Test func aClockThatJumpsBackGivesNoMore() {
        #expect(StoppingTime(seconds: 10, now: 50_000).left(now: 0) == 10_000)
    }
}
