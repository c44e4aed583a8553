import Testing

@testable import CarillonRouter

@Suite struct ReloadGateTests {
    private let gate = ReloadGate()

    @Test func oneReloadRunsAtATime() {
        #expect(gate.enter())
        #expect(!gate.enter())
        #expect(gate.leave())
        #expect(gate.enter())
    }

    @Test func reloadInProgressRunsOnceMoreForAllRequests() {
        #expect(gate.enterOrAsk())
        #expect(!gate.enterOrAsk())
        #expect(!gate.enterOrAsk())
        #expect(!gate.leave())
        // The reload is still in progress, and it includes the earlier request.
        #expect(!gate.enter())
        #expect(gate.leave())
        #expect(gate.enterOrAsk())
    }
}
