import Core
import Testing
import TimeTestSupport

@testable import CarillonRouter

@Suite struct StopBudgetTests {
    @Test func stepsTogetherStayWithinTheBudget() {
        let clock = ManualClock(1_000)
        let budget = StopBudget(.seconds(10), now: clock.now)
        #expect(budget.part(30) == .seconds(3))
        #expect(budget.deadline(90, leaving: 20) == 9_000)
        clock.advance(by: .seconds(8))
        #expect(budget.part(50) == .seconds(2))
        clock.advance(by: .milliseconds(500))
        #expect(budget.deadline(50, leaving: 20) == 9_500)
        clock.advance(by: .seconds(10))
        #expect(budget.part(15) == .zero)
    }

    @Test func clockThatJumpsBackDoesNotExtendTheBudget() {
        let clock = ManualClock(50_000)
        let budget = StopBudget(.seconds(10), now: clock.now)
        clock.advance(by: .seconds(-50))
        #expect(budget.left == .seconds(10))
    }
}
