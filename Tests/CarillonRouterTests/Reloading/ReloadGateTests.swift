import Testing

@testable import CarillonRouter

@Suite struct ReloadGateTests {
    private let gate = ReloadGate()

    @Test func letsInOneAtATime() {
        #expect(gate.enter())
        #expect(!gate.enter())
        #expect(gate.leave())
        #expect(gate.enter())
    }

    @Test func whoeverHasItReadsOnceMoreForAllWhoAsked() {
        #expect(gate.enterOrAsk())
        #expect(!gate.enterOrAsk())
        #expect(!gate.enterOrAsk())
        #expect(!gate.leave())
        // Still under way, and what was asked for before is being done.
        #expect(!gate.enter())
        #expect(gate.leave())
        #expect(gate.enterOrAsk())
    }
}
