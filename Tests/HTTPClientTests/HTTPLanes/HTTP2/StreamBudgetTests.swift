import Testing

@testable import HTTPClient

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

    @Test func framesEndWhereAPeerOpensItsWindow() {
        var window = SendWindow()
        #expect(window.untilUpdate(initially: 65_535) == 32_767)
        window.sent(32_000)
        #expect(window.untilUpdate(initially: 65_535) == 767)
        window.sent(767)
        #expect(window.untilUpdate(initially: 65_535) == 32_767)
        window.sent(32_767)
        // The odd byte belongs to neither half.
        #expect(window.untilUpdate(initially: 65_535) == .max)
        _ = window.grow(by: 65_534 + 1_000_000, initially: 65_535)
        // Windows beyond the initial one have other rules.
        #expect(window.untilUpdate(initially: 65_535) == .max)
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
