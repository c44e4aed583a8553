import Testing

@testable import PluginHost

/// Inbound requests until their responses.
struct InboundTableTests {
    private func waiter(_ instance: UInt32 = 1) -> InboundTable.Waiter {
        InboundTable.Waiter(instance: instance, done: { _ in })
    }

    private func word(_ end: InboundTable.Completion) -> String {
        switch end {
        case .ended(let waiter): "ended \(waiter.instance)"
        case .late: "late"
        case .unknown: "unknown"
        }
    }

    @Test func eachEndsOnce() {
        var table = InboundTable()
        let (first, second) = (table.open(waiter(1)), table.open(waiter(2)))
        let ends = [first, second, second, 0, second + 1].map { word(table.end($0)) }
        #expect(ends == ["ended 1", "ended 2", "late", "unknown", "unknown"])
        #expect(table.isEmpty)
    }

    @Test func openRequestsEndWithTheirProcess() {
        var table = InboundTable()
        let number = table.open(waiter(1))
        _ = table.open(waiter(2))
        let waiters = table.removeAll()
        #expect(waiters.map(\.instance) == [1, 2] && table.isEmpty)
        #expect(word(table.end(number)) == "late")
    }

    @Test func unansweredRequestIsForgottenEventually() {
        var table = InboundTable()
        let numbers = (0..<5_000).map { table.open(waiter(UInt32($0))) }
        #expect(word(table.end(numbers[0])) == "late")
        #expect(word(table.end(numbers[4_999])) == "ended 4999")
        #expect(table.removeAll().count == 1_023)
    }
}
