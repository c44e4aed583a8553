import Testing

@testable import RelayPool

@Test func eventsAreBatchedByHowTheyWereRead() {
    var batches = EventBatches(limit: 2)
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
    limits.bytesInWork = 10
    var batches = EventBatches(limit: 3)
    var work = EventsInWork(limits: limits)
    #expect(work.isEmpty)
    _ = batches.add([0, 0], Arrival(reading: .live, sweep: nil, epoch: 0))
    work.add(bytes: 2)
    #expect(!work.isFull)
    _ = batches.add([0], Arrival(reading: .live, sweep: nil, epoch: 0))
    work.add(bytes: 1)
    #expect(work.isFull)
    for batch in batches.takeAll() { work.settle(batch) }
    #expect(work.isEmpty)
    work.add(bytes: 10)
    #expect(work.isFull)
}
