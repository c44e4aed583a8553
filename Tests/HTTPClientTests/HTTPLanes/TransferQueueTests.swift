import Core
import Testing
import TimeTestSupport

@testable import HTTPClient

struct TransferQueueTests {
    private let answers = Answers()

    private func exchange(
        _ number: Int,
        share: UInt32 = 1,
        host: String = "push.example",
        deadline: Deadline = 1_000
    ) throws -> Exchange {
        let url = try #require(URLParts("http://\(host)/\(number)"))
        var request = HTTPRequest(method: "GET", url: url.normalized)
        request.share = share
        return Exchange(request: request, url: url, deadline: deadline) { [answers] in answers.record(number, $0) }
    }

    private func end(_ exchanges: [Exchange]) {
        for exchange in exchanges { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
    }

    @Test func busyShareLeavesCapacityForOthers() throws {
        var queue = TransferQueue(places: 100, slowPlaces: 2)
        for number in 0..<1_000 { queue.append(try exchange(number, share: 1)) }
        var begun: [Exchange] = []
        while let next = queue.next() { begun.append(next) }
        #expect(queue.underWay == 50)
        queue.append(try exchange(1_000, share: 2))
        let next = queue.next()
        let other = try #require(next)
        #expect(other.request.share == 2)
        #expect(queue.next() == nil)
        end(begun + [other] + queue.takeAll())
        #expect(answers.count == 1_001)
    }

    @Test func queuedTransfersStartInOrderAndByTurns() throws {
        var queue = TransferQueue(places: 4, slowPlaces: 2)
        for number in 0..<4 { queue.append(try exchange(number, share: 1)) }
        for number in 10..<12 { queue.append(try exchange(number, share: 2)) }
        var begun: [Exchange] = []
        func begin() {
            while let next = queue.next() { begun.append(next) }
        }
        begin()
        #expect(begun.map(\.url.target) == ["/0", "/10", "/1"])
        queue.ended(begun[1])
        begin()
        #expect(begun.map(\.url.target).last == "/11")
        queue.ended(begun[0])
        begin()
        #expect(begun.map(\.url.target) == ["/0", "/10", "/1", "/11", "/2"])
        end(begun + queue.takeAll())
    }

    @Test func slowTransferLeavesItsSlotUpToALimit() throws {
        var queue = TransferQueue(places: 4, slowPlaces: 2)
        for number in 0..<9 { queue.append(try exchange(number, share: 1)) }
        var begun: [Exchange] = []
        func begin() {
            while let next = queue.next() { begun.append(next) }
        }
        begin()
        #expect(begun.count == 2)
        for exchange in begun { queue.slow(exchange) }
        // Not twice.
        queue.slow(begun[0])
        begin()
        #expect(begun.count == 4 && queue.underWay == 4 && !queue.hasSlowPlace)
        queue.slow(begun[2])
        begin()
        #expect(begun.count == 4)
        queue.ended(begun[0])
        queue.slow(begun[2])
        begin()
        #expect(begun.count == 5 && queue.underWay == 4)
        queue.ended(begun[3])
        begin()
        #expect(begun.count == 6 && !queue.isEmpty)
        end(begun + queue.takeAll())
    }

    @Test func transferPastItsDeadlineIsRemoved() throws {
        var queue = TransferQueue(places: 1, slowPlaces: 2)
        queue.append(try exchange(1, share: 1, deadline: 10))
        queue.append(try exchange(2, share: 1, deadline: 30))
        queue.append(try exchange(3, share: 2, deadline: 20))
        #expect(queue.soonestDeadline == 10)
        let due = queue.takeDue(by: 20)
        #expect(Set(due.map(\.url.target)) == ["/1", "/3"])
        #expect(queue.soonestDeadline == 30)
        let next = queue.next()
        let last = try #require(next)
        #expect(last.url.target == "/2")
        #expect(queue.soonestDeadline == .distantFuture)
        end(due + [last])
    }

    /// Starts as many requests as possible, and returns them in order.
    private func begin(_ queue: inout TransferQueue) -> [Exchange] {
        var begun: [Exchange] = []
        while let next = queue.next() { begun.append(next) }
        return begun
    }

    @Test func hostWithoutActiveTransfersGoesFirst() throws {
        var queue = TransferQueue(places: 8, slowPlaces: 600)
        for number in 0..<4_800 { queue.append(try exchange(number, host: "slow-\(number / 16).example")) }
        var begun = begin(&queue)
        while queue.idleHosts > 0 {
            for exchange in begun { queue.slow(exchange) }
            begun += begin(&queue)
        }
        #expect(Set(begun.map(\.url.origin.host)).count == 300)
        queue.append(try exchange(1, host: "old.example"))
        queue.append(try exchange(2, host: "new.example"))
        #expect(queue.idleHosts == 2)
        for exchange in begun { queue.slow(exchange) }
        let next = begin(&queue)
        #expect(next.prefix(2).map(\.url.origin.host) == ["new.example", "old.example"])
        end(begun + next + queue.takeAll())
    }

    @Test func hostsTakeTurnsAndResponsiveOnesGoFirst() throws {
        var queue = TransferQueue(places: 4, slowPlaces: 1)
        for (number, host) in ["a", "a", "b", "b", "c"].enumerated() { queue.append(try exchange(number, host: host)) }
        let begun = begin(&queue)
        #expect(begun.map(\.url.origin.host) == ["c", "b"])
        queue.ended(begun[0])
        let third = begin(&queue)
        #expect(third.map(\.url.origin.host) == ["a"])
        // Without a response, the next request would be of b.
        queue.ended(third[0], isAnswered: true)
        let fourth = begin(&queue)
        #expect(fourth.map(\.url.origin.host) == ["a"])
        end(begun + third + fourth + queue.takeAll())
    }

    @Test func surplusOfBusyHostsMakesSpaceForOthers() throws {
        var queue = TransferQueue(places: 2, slowPlaces: 1)
        for number in 0..<3 { queue.append(try exchange(number, host: "busy.example")) }
        let none = queue.takeSurplus(of: 1, except: "other.example")
        let begun = begin(&queue)
        let others = queue.takeSurplus(of: 2, except: "other.example")
        let own = queue.takeSurplus(of: 1, except: "busy.example")
        #expect(none == nil && others == nil && own == nil)
        let (second, first) = (
            queue.takeSurplus(of: 1, except: "other.example"), queue.takeSurplus(of: 1, except: "other.example")
        )
        let surplus = [second, first].compactMap(\.self)
        #expect(surplus.map(\.url.target) == ["/2", "/1"])
        let last = queue.takeSurplus(of: 1, except: "other.example")
        #expect(queue.isEmpty && last == nil)
        queue.ended(begun[0])
        queue.append(try exchange(3, host: "busy.example"))
        let next = begin(&queue)
        #expect(next.map(\.url.target) == ["/3"])
        end(begun + surplus + next)
    }
}
