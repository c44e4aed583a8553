import Nostr
import Testing
import Units

@testable import RelayPool

private func watched(_ number: Int) -> RosterEntry {
    RosterEntry(Watched(key: .sample(number), interest: .addressed, since: Int64(number), isEstablished: false))
}

@Test func aRosterFindsWhatADictionaryWouldAfterManyChanges() {
    var roster = Roster(chunkSize: 7)
    var expected: [PublicKey: UInt32] = [:]
    var state: UInt64 = 42
    for _ in 0..<20_000 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let number = Int(state >> 33) % 700
        let key = PublicKey.sample(number)
        if let place = expected[key] {
            #expect(roster.remove(key) == Int(place) / 7)
            expected[key] = nil
        } else {
            expected[key] = roster.insert(watched(number))
        }
    }
    #expect(roster.count == expected.count)
    for number in 0..<700 {
        let key = PublicKey.sample(number)
        #expect(roster.place(of: key) == expected[key])
        #expect(roster.place(of: key).flatMap { roster.entry(at: $0)?.key } == expected[key].map { _ in key })
    }
    #expect(Set(expected.values).count == expected.count)
    roster.rearrange(chunkSize: 10)
    #expect(roster.chunks == Array(0..<roster.chunksNeeded))
    #expect(roster.chunks.map { roster.entries(ofChunk: $0).count }.reduce(0, +) == expected.count)
}

@Test func aKeyGoesWhereThereIsRoomAndKeepsItsPlace() {
    var roster = Roster(chunkSize: 2)
    let places = (1...5).map { roster.insert(watched($0)) }
    #expect(roster.chunks == [0, 1, 2])
    #expect(roster.remove(.sample(2)) == 0)
    #expect(roster.remove(.sample(2)) == nil)
    #expect(roster.insert(watched(6)) == places[1])
    #expect(roster.place(of: .sample(5)) == places[4])
    #expect(roster.entry(at: 99) == nil)
}

@Test func anEntryIsSmall() {
    #expect(MemoryLayout<RosterEntry>.stride <= 48)
}

@Test func keysWithNearMomentsAreReadForTogetherOldestFirst() {
    var queue = ReadingQueue()
    for (place, moment) in [(1, 5_000), (2, 100), (3, 5_500), (4, 700), (5, 701)] {
        queue.append(UInt32(place), moment: Int64(moment))
    }
    #expect(queue.next(atMost: 10, within: .minutes(10)) == [2, 4])
    #expect(queue.next(atMost: 10, within: .minutes(10)) == [5])
    #expect(queue.next(atMost: 1, within: .minutes(10)) == [1])
    queue.append(9, moment: 1)
    #expect(queue.next(atMost: 10, within: .minutes(10)) == [9])
    #expect(queue.next(atMost: 10, within: .minutes(10)) == [3])
    #expect(queue.isEmpty)
}
