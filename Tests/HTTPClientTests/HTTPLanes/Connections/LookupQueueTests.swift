import Core
import NIOConcurrencyHelpers
import Testing
import TimeTestSupport

@testable import HTTPClient

struct LookupQueueTests {
    private let request = LookupQueue.Request(isWanted: { true }, completion: { _ in })

    private func name(_ number: Int) -> LookupQueue.Name { .init(host: "\(number).example", port: 443) }

    private func start(_ queue: inout LookupQueue, now: Deadline) -> [LookupQueue.Name] {
        var names: [LookupQueue.Name] = []
        while let name = queue.next(now: now).name { names.append(name) }
        return names
    }

    @Test func theNewestNameGoesFirst() {
        var queue = LookupQueue(limit: 8)
        for number in 0..<4 { _ = queue.append(request, for: name(number)) }
        #expect(start(&queue, now: 0) == [name(3), name(2), name(1)])
    }

    @Test func lookupsBeyondAQuarterBeginAtASteadyPaceUpToTheLimit() {
        var queue = LookupQueue(limit: 8)
        for number in 0..<20 { _ = queue.append(request, for: name(number)) }
        #expect(start(&queue, now: 0).count == 3)
        #expect(queue.nextStart == 60)
        #expect(start(&queue, now: 59).isEmpty)
        _ = queue.append(request, for: name(20))
        #expect(start(&queue, now: 60) == [name(20)])
        for time in 2..<20 { _ = start(&queue, now: Deadline(milliseconds: Int64(time * 60))) }
        // All eight are used up until one ends.
        #expect(queue.nextStart == nil)
        #expect(queue.ended(name(20), now: 2_000).count == 1)
        #expect(queue.nextStart != nil)
    }

    @Test func quickLookupStartsTheNextImmediately() {
        var queue = LookupQueue(limit: 8)
        for number in 0..<9 { _ = queue.append(request, for: name(number)) }
        let last = start(&queue, now: 0).last ?? name(0)
        _ = queue.ended(last, now: 10)
        #expect(start(&queue, now: 10).count == 1)
        #expect(start(&queue, now: 10).isEmpty)
    }

    @Test func aNameNoLongerWantedIsSkipped() {
        let isWanted = NIOLockedValueBox(true)
        var queue = LookupQueue(limit: 8)
        _ = queue.append(.init(isWanted: { isWanted.withLockedValue { $0 } }, completion: { _ in }), for: name(1))
        isWanted.withLockedValue { $0 = false }
        let (next, unwanted) = queue.next(now: 0)
        #expect(next == nil && unwanted.count == 1)
        #expect(queue.nextStart == nil)
    }

    @Test func oldestNameIsEvictedForNewOnes() {
        var queue = LookupQueue(limit: 8)
        for number in 0..<8_192 { #expect(queue.append(request, for: name(number)).isEmpty) }
        #expect(queue.append(request, for: name(8_192)).count == 1)
        #expect(queue.ended(name(0), now: 0).isEmpty)
    }
}
