import Testing

@testable import HTTPLanes

struct StreamBudgetTests {
    @Test func oneStreamIsFreeBeforeSettingsAndTheCeilingHoldsAfterwards() {
        var budget = StreamBudget(ceiling: 10)
        #expect(budget.free == 1)
        budget.opened(streamID: 1)
        #expect(budget.free == 0)
        budget.settingsReceived(maxConcurrentStreams: .max)
        #expect(budget.free == 9)
        budget.settingsReceived(maxConcurrentStreams: 0)
        #expect(budget.free == 0)
    }

    @Test func aConnectionIsLeftLongBeforeItsStreamIDsRunOut() {
        var budget = StreamBudget(ceiling: 10)
        budget.settingsReceived(maxConcurrentStreams: 10)
        budget.opened(streamID: (1 << 30) - 1)
        #expect(!budget.isDraining)
        budget.opened(streamID: (1 << 30) + 1)
        #expect(budget.isDraining)
        #expect(budget.free == 0)
        #expect(budget.inFlight == 2)
    }
}
