import Testing
import Units

@testable import RelayPool

@Test func eventsAreBatchedByHowTheyWereRead() {
    var limits = ConnectionLimits()
    limits.batch = 2
    var batches = EventBatches(limits: limits)
    let live = Arrival(reading: .live, sweep: nil, epoch: 0)
    #expect(batches.add([1], live) == nil)
    #expect(batches.add([2], Arrival(reading: .stored, sweep: 1, epoch: 0)) == nil)
    let full = batches.add([3, 3], live)
    #expect(full?.reading == .live)
    #expect(full?.events == [[1], [3, 3]])
    #expect(full?.arrivals == [live, live])
    #expect(full?.bytes == 3)
    #expect(batches.add([4], Arrival(reading: .stored, sweep: 2, epoch: 0))?.arrivals.map(\.sweep) == [1, 2])
    #expect(batches.takeAll() == [])
    #expect(batches.add([5], live) == nil)
    #expect(batches.takeAll().map(\.events) == [[[5]]])
    #expect(batches.takeAll() == [])
}

@Test func readingStopsWhenTooMuchIsInWork() {
    var limits = ConnectionLimits()
    limits.eventsInWork = 2
    limits.bytesInWork = ByteCount(10)
    limits.batch = 3
    var batches = EventBatches(limits: limits)
    let live = Arrival(reading: .live, sweep: nil, epoch: 0)
    #expect(batches.isSettled)
    _ = batches.add([0, 0], live)
    #expect(!batches.isFull)
    _ = batches.add([0], live)
    #expect(batches.isFull)
    for batch in batches.takeAll() { batches.settle(batch) }
    #expect(batches.isSettled)
    _ = batches.add([UInt8](repeating: 0, count: 10), live)
    #expect(batches.isFull)
}
