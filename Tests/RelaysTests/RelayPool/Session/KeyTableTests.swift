import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Relays

private func watched(_ number: Int) -> KeyEntry {
    KeyEntry(Watched(key: .sample(number), interest: .addressed, since: Int64(number), isEstablished: false))
}

@Test func aKeyTableFindsWhatADictionaryWouldAfterManyChanges() {
    var keyTable = KeyTable(chunkSize: 7)
    var expected: [PublicKey: UInt32] = [:]
    var state: UInt64 = 42
    for _ in 0..<20_000 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let number = Int(state >> 33) % 700
        let key = PublicKey.sample(number)
        if let place = expected[key] {
            #expect(keyTable.remove(key) == Int(place) / 7)
            expected[key] = nil
        } else {
            expected[key] = keyTable.insert(watched(number))
        }
    }
    #expect(keyTable.count == expected.count)
    for number in 0..<700 {
        let key = PublicKey.sample(number)
        #expect(keyTable.place(of: key) == expected[key])
        #expect(keyTable.place(of: key).flatMap { keyTable.entry(at: $0)?.key } == expected[key].map { _ in key })
    }
    #expect(Set(expected.values).count == expected.count)
    keyTable.rearrange(chunkSize: 10)
    #expect(keyTable.chunks == Array(0..<keyTable.chunksNeeded))
    #expect(keyTable.chunks.map { keyTable.entries(ofChunk: $0).count }.reduce(0, +) == expected.count)
}

@Test func keyUsesAFreeSlotAndKeepsIt() {
    var keyTable = KeyTable(chunkSize: 2)
    let places = (1...5).map { keyTable.insert(watched($0)) }
    #expect(keyTable.chunks == [0, 1, 2])
    #expect(keyTable.remove(.sample(2)) == 0)
    #expect(keyTable.remove(.sample(2)) == nil)
    #expect(keyTable.insert(watched(6)) == places[1])
    #expect(keyTable.place(of: .sample(5)) == places[4])
    #expect(keyTable.entry(at: 99) == nil)
}

@Test func entryFitsItsSize() {
    #expect(MemoryLayout<KeyEntry>.stride <= 48)
}

@Test func keysWithSimilarTimesAreReadTogetherOldestFirst() {
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
    #expect(queue.waiting.isEmpty)
}

/// Returns all filters for one key of an account.
private func authored(furtherLists: Set<Kind>) -> [Filter] {
    var settings = SessionSettings(ownKeys: [.sample(0)])
    settings.furtherLists = furtherLists
    let plan = FilterPlan(settings, withWraps: true)
    let entry = KeyEntry(
        Watched(key: .sample(1), interest: [.addressed, .authored], since: 1_000, isEstablished: false)
    )
    let stages = plan.catchUp([entry], since: 2_000) + plan.beginning([entry], notBefore: 0)
    let live = plan.live(addressed: [.sample(1)], authored: [.sample(1)], now: 3_000_000)
    return (live + stages.map(\.filter)).filter { $0.authors == [.sample(1)] }
}

@Test func contactListsAreRequestedIfRelevant() {
    func expected(_ further: Set<Kind>) -> [Set<Kind>] {
        let lists = further.union([.relayList, .deviceList, .pushRegistration, .addressablePushRegistration])
        let all = lists.union([.deletion, .requestToVanish])
        // Only deletions of registrations are requested from the stored events.
        return [all, all, lists.union([.requestToVanish]), [.deletion]]
    }
    #expect(authored(furtherLists: []).map(\.kinds) == expected([]))
    let more = authored(furtherLists: [.contactList])
    #expect(more.map(\.kinds) == expected([.contactList]))
    #expect(more.last?.tags == ["k": ["10062", "30062"]])
}
