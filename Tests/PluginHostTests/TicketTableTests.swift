import Core
import Testing
import TimeTestSupport

@testable import PluginHost

struct TicketTableTests {
    private func ended<Payload: Equatable>(_ end: TicketTable<Payload>.Completion) -> Payload? {
        if case .ended(let payload) = end { payload } else { nil }
    }

    private func isUnknown(_ end: TicketTable<String>.Completion) -> Bool {
        if case .unknown = end { true } else { false }
    }

    @Test func ticketEndsOnce() throws {
        var table = TicketTable<String>()
        let ticket = try table.opened("a", deadline: 10)
        #expect(ended(table.end(ticket)) == "a")
        #expect(isUnknown(table.end(ticket)))
        #expect(table.outstanding == 0)
    }

    @Test func ticketsNeverRepeat() throws {
        var table = TicketTable<String>()
        var seen: Set<UInt64> = []
        for _ in 0..<10_000 {
            let ticket = try table.opened("", deadline: 0)
            #expect(seen.insert(ticket).inserted)
            #expect(ticket != 0)
            _ = table.end(ticket)
        }
    }

    @Test func fullTableRefuses() throws {
        var table = TicketTable<String>(capacity: 2)
        let first = try table.opened("a", deadline: 0)
        #expect(throws: Never.self) { try table.opened("b", deadline: 0) }
        #expect(throws: Full.self) { try table.opened("c", deadline: 0) }
        // No longer waited for, but still owned by the plugin.
        #expect(table.expire(now: 0).count == 2)
        #expect(throws: Full.self) { try table.opened("c", deadline: 0) }
        guard case .late = table.end(first) else {
            Issue.record("an expired ticket ends late")
            return
        }
        #expect(throws: Never.self) { try table.opened("c", deadline: 0) }
    }

    @Test func expiryIsInOrderAndInTime() throws {
        var table = TicketTable<String>()
        let tickets = try (0..<5).map { try table.opened("\($0)", deadline: Deadline(milliseconds: Int64(10 * $0))) }
        _ = table.end(tickets[1])
        #expect(table.nextDeadline == 0)
        #expect(table.expire(now: 29).map(\.payload) == ["0", "2"])
        #expect(table.nextDeadline == 30)
        #expect(table.open == [tickets[3], tickets[4]])
        #expect(table.expire(now: 29).isEmpty)
        #expect(table.expire(now: .distantFuture).map(\.payload) == ["3", "4"])
        #expect(table.nextDeadline == nil)
        #expect(table.outstanding == 4)
    }

    @Test func clockThatStepsBackKeepsTheOrder() throws {
        var table = TicketTable<String>()
        _ = table.open("a", deadline: 100)
        _ = table.open("b", deadline: 50)
        #expect(table.expire(now: 99).isEmpty)
        #expect(table.expire(now: 100).map(\.payload) == ["a", "b"])
    }

    @Test func tableMatchesADictionary() throws {
        var random = SystemRandomNumberGenerator()
        var table = TicketTable<Int>(capacity: 50)
        var model: [UInt64: (payload: Int, deadline: Deadline)] = [:]
        var owed: Set<UInt64> = []
        for step in 0..<20_000 {
            let now = Deadline(milliseconds: Int64(step))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let ticket = table.open(step, deadline: now + .milliseconds(40))
                #expect((ticket == nil) == (model.count + owed.count == 50))
                if let ticket { model[ticket] = (step, now + .milliseconds(40)) }
            case 5..<9:
                guard let (ticket, entry) = model.randomElement(using: &random) else { continue }
                #expect(ended(table.end(ticket)) == entry.payload)
                model[ticket] = nil
            default:
                let due = model.filter { $0.value.deadline <= now }
                #expect(Set(table.expire(now: now).map(\.ticket)) == Set(due.keys))
                for ticket in due.keys { model[ticket] = nil }
                owed.formUnion(due.keys)
                if let ticket = owed.popFirst() { _ = table.end(ticket) }
            }
            #expect(table.outstanding == model.count + owed.count)
        }
    }
}

private struct Full: Error {}

extension TicketTable {
    /// Returns a new ticket; throws if the table is full.
    fileprivate mutating func opened(_ payload: Payload, deadline: Deadline) throws -> UInt64 {
        guard let ticket = open(payload, deadline: deadline) else { throw Full() }
        return ticket
    }
}
