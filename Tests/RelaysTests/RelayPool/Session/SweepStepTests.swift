import Core
import Nostr
import Testing

@testable import Relays

private let fresh = PublicKey.sample(5)

@Test func aKeyWithoutStoredEventsTakesThreeRequests() {
    var exchange = Exchange()
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.seconds(10))
    #expect(exchange.established == [fresh])
    #expect(exchange.relay.requests.map(\.filters.count) == [2, 3, 2])
}

@Test(arguments: [true, false], [1, 3, 40, 500]) func filtersThatShareACapMissNoEvents(
    _ capsTogether: Bool,
    _ cap: Int
) {
    var exchange = Exchange()
    let start = Exchange.start
    var news: [Event] = []
    var old: [Event] = []
    for number in 0..<60 {
        let seconds = Int64(number * 10)
        news.append(.sample(number, to: fresh, at: start + seconds))
        news.append(.sample(1_000 + number, .giftWrap, to: fresh, at: start + seconds))
        news.append(.sample(2_000 + number, .relayList, by: fresh, at: start - 500_000 + seconds))
        old.append(.sample(3_000 + number, .giftWrap, to: fresh, at: start - 1 - seconds))
        if number < 15 { old.append(.sample(4_000 + number, .contactList, to: fresh, at: start - 900_000 - seconds)) }
    }
    exchange.relay.events = news + old
    exchange.relay.cap = cap
    exchange.relay.capsTogether = capsTogether
    exchange.now += .seconds(700)
    exchange.watch([5], since: start)
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(exchange.established == [fresh])
    // A relay that gives one event at a time cannot give a second one that is as old or older.
    guard cap > 1 else { return }
    for event in news { #expect(Set(exchange.readings(of: event)) == [.stored], "\(event.kind)") }
    for event in old { #expect(Set(exchange.readings(of: event)) == [.baseline], "\(event.kind)") }
}

@Test func relayThatAcceptsOneFilterGetsOnePerRequest() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.relay.refusal = { filters in
        filters.count > 1 && filters.contains { $0.limit == 500 } ? "invalid: one filter at a time" : nil
    }
    let note = Event.sample(1, to: .sample(250), at: Exchange.start + 1)
    exchange.relay.events = [note]
    exchange.watch(1...300)
    exchange.now += .seconds(2)
    exchange.connect()
    exchange.pass(.minutes(1))
    #expect(exchange.established.count == 300)
    #expect(exchange.readings(of: note) == [.stored])
    #expect(exchange.relay.refused.count <= 2)
}

@Test func stagesArePackedByLengthAndKind() {
    let named: [Character: Set<String>] = ["p": [fresh.hex]]
    let notes = SweepStage(filter: Filter(kinds: [.textNote], tags: named, since: 100), reading: .stored, pages: 9)
    let lists = SweepStage(filter: Filter(authors: [fresh], kinds: [.relayList]), reading: .stored, pages: 9)
    let wraps = SweepStage(filter: Filter(kinds: [.giftWrap], tags: named), reading: .stored, newFrom: 50, pages: 9)
    let all = SweepStage(filter: Filter(tags: named, since: 100), reading: .stored, pages: 9)
    let before = SweepStage(filter: Filter(tags: named, until: 99), reading: .stored, pages: 9)
    func sizes(_ stages: [SweepStage], _ length: Int = 10_000) -> [Int] {
        SweepStep.pack(stages, limit: 10, within: length).map(\.filters.count)
    }
    #expect(sizes([notes, lists]) == [2])
    #expect(sizes([notes, lists], 300) == [1, 1])
    #expect(sizes([notes, lists], 0) == [1, 1])
    #expect(sizes([notes, wraps]) == [1, 1])
    #expect(sizes([notes, all]) == [1, 1])
    #expect(sizes([all, before]) == [2])
    #expect(wraps.reading(at: 49) == .baseline)
    #expect(wraps.reading(at: 50) == .stored)
}
