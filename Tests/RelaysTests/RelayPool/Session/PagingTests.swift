import Core
import Nostr
import Testing

@testable import Relays

private let key = PublicKey.sample(5)

/// A mark from which the day before ``Exchange/start`` is read.
private func caughtUp(_ events: [Event], _ change: (inout ModelRelay) -> Void = { _ in }) -> Exchange {
    var exchange = Exchange()
    exchange.relay.events = events
    change(&exchange.relay)
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 86_400)
    exchange.pass(.minutes(1))
    return exchange
}

private func notes(_ count: Int, at second: (Int) -> Int64) -> [Event] {
    (0..<count).map { .sample($0, to: key, at: second($0)) }
}

@Test func moreEventsThanFitOnAPageAreReadOnceEach() {
    let events = notes(1_234) { Exchange.start - Int64($0) }
    let exchange = caughtUp(events)
    #expect(exchange.handed.count == 1_234)
    #expect(Set(exchange.handed.map(\.id)).count == 1_234)
    #expect(!exchange.marks.isEmpty)
}

@Test func eventsOfOneSecondAcrossPagesAreReadOnce() {
    let events = notes(1_500) { Exchange.start - Int64($0 / 7) }
    let exchange = caughtUp(events) { $0.cap = 101 }
    #expect(exchange.handed.count == 1_500)
    #expect(Set(exchange.handed.map(\.id)).count == 1_500)
}

@Test(arguments: [true, false], [500, 101, 19]) func relayWithExclusiveUntilIsReadCompletely(
    _ excludesUntil: Bool,
    _ cap: Int
) {
    // Several per second, so that pages end in the middle of a second.
    let events = notes(1_200) { Exchange.start - Int64($0 / 6) }
    let exchange = caughtUp(events) {
        $0.excludesUntil = excludesUntil
        $0.cap = cap
    }
    #expect(exchange.handed.count == 1_200)
    #expect(Set(exchange.handed.map(\.id)).count == 1_200)
    #expect(exchange.unread == 0)
}

@Test(arguments: [true, false], [500, 60]) func aSecondWithMoreEventsThanAPageIsReadByKindsAndThenByKeys(
    _ excludesUntil: Bool,
    _ cap: Int
) {
    var exchange = Exchange()
    let second = Exchange.start - 50
    // 55 of one kind to each of 15 keys; of three kinds to the last.
    var events = (0..<15).flatMap { key in
        (0..<55).map { Event.sample(key * 100 + $0, to: .sample(5 + key), at: second) }
    }
    for (number, kind) in [Kind.reaction, .contactList].enumerated() {
        events += (0..<55).map { .sample(5_000 + number * 100 + $0, kind, to: .sample(19), at: second) }
    }
    let before = (0..<100).map { Event.sample(9_000 + $0, to: .sample(5), at: second - 1 - Int64($0 / 10)) }
    exchange.relay.events = events + before
    exchange.relay.excludesUntil = excludesUntil
    exchange.relay.cap = cap
    exchange.watch(5...19, since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 86_400)
    exchange.pass(.minutes(2))
    #expect(Set(exchange.handed.map(\.id)) == Set((events + before).map(\.id)))
    #expect(exchange.unread == 0)
    #expect(exchange.relay.requests.count < 90)
    #expect(!exchange.marks.isEmpty)
}

/// 1,200 events of one second that name one key: no part of the filter separates them.
@Test(arguments: [true, false], [true, false]) func aSecondOfOneKeyIsReadByKindsAndAuthors(
    _ excludesUntil: Bool,
    _ asksForAllKinds: Bool
) {
    var exchange = Exchange { if asksForAllKinds { $0.addressedKinds = nil } }
    let second = Exchange.start - 50
    let kinds: [Kind] = [.textNote, .textNote, .textNote, .textNote, .reaction, .contactList]
    let crowd = (0..<1_200).map {
        Event.sample($0, kinds[$0 % 6], to: key, by: .sample(2_000 + $0 * 7 % 90), at: second)
    }
    let before = (0..<100).map { Event.sample(9_000 + $0, to: key, at: second - 1 - Int64($0 / 10)) }
    exchange.relay.events = crowd + before
    exchange.relay.excludesUntil = excludesUntil
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 86_400) { $0.maxLimit = 500 }
    exchange.pass(.minutes(2))
    #expect(Set(exchange.handed.map(\.id)) == Set((crowd + before).map(\.id)))
    #expect(exchange.handed.count == 1_300)
    // An author that no page showed may have written as well.
    #expect(exchange.unread == 1)
    #expect(exchange.relay.requests.count < 40)
    #expect(!exchange.marks.isEmpty)
}

@Test func secondOfIrrelevantEventsIsNotRequestedForever() {
    let crowd = (0..<1_200).map { Event.sample($0, to: key, by: .sample(2_000 + $0), at: Exchange.start - 50) }
    let before = Event.sample(9_000, to: key, at: Exchange.start - 80)
    let exchange = caughtUp(crowd + [before]) { $0.cap = 100 }
    // The relay shows no more than a hundred authors.
    #expect(exchange.handed.count == 101)
    #expect(exchange.unread == 1)
    #expect(exchange.relay.requests.count < 20)
}

@Test func unreadableSecondIsCounted() {
    let second = Exchange.start - 50
    let crowd = (0..<700).map { Event.sample($0, to: key, at: second) }
    let exchange = caughtUp(crowd)
    #expect(exchange.handed.count == 500)
    #expect(exchange.unread == 1)
    #expect(caughtUp(notes(400) { Exchange.start - Int64($0) }).unread == 0)
}

@Test func catchUpAbandonedForItsLengthIsCounted() {
    var exchange = Exchange { $0.pages = 3 }
    exchange.relay.events = notes(900) { Exchange.start - Int64($0) }
    exchange.relay.cap = 100
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 86_400)
    exchange.pass(.minutes(1))
    #expect(exchange.handed.count < 900)
    #expect(exchange.unread == 1)
}

@Test func secondWithMoreEventsThanAPageHidesNoEarlierEvents() {
    let crowd = (0..<700).map { Event.sample($0, to: key, at: Exchange.start - 50) }
    let after = Event.sample(1_000, to: key, at: Exchange.start - 20)
    let before = Event.sample(1_001, to: key, at: Exchange.start - 80)
    let exchange = caughtUp(crowd + [after, before])
    #expect(exchange.readings(of: after) == [.stored])
    #expect(exchange.readings(of: before) == [.stored])
    #expect(exchange.handed.count >= 500)
}

@Test(arguments: [true, false]) func aRelayThatIgnoresLimitsIsReadOnce(_ ignoresSince: Bool) {
    let events = notes(900) { Exchange.start - Int64($0) }
    let exchange = caughtUp(events + [.sample(5_000, to: key, at: 5)]) {
        $0.ignoresLimit = true
        $0.ignoresSince = ignoresSince
    }
    #expect(exchange.handed.count == 900)
    #expect(exchange.relay.requests.count < 20)
}

@Test func relayThatIgnoresUntilIsNotAskedForever() {
    let exchange = caughtUp(notes(900) { Exchange.start - Int64($0) }) { $0.ignoresUntil = true }
    #expect(exchange.handed.count == 500)
    #expect(exchange.relay.requests.count < 20)
    #expect(!exchange.marks.isEmpty)
}

@Test func relaysLimitIsRespected() {
    var exchange = Exchange()
    exchange.relay.events = notes(100) { Exchange.start - Int64($0) }
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 86_400) { $0.maxLimit = 30 }
    exchange.pass(.minutes(1))
    #expect(exchange.relay.requests.flatMap(\.filters).compactMap(\.limit).max() == 30)
    #expect(exchange.handed.count == 100)
}

@Test func contactListPagesAreLimited() {
    var exchange = Exchange { $0.contactPages = 3 }
    exchange.relay.events = (0..<1_000).map {
        .sample($0, .contactList, to: key, by: .sample(10_000 + $0), at: 1_000_000 + Int64($0))
    }
    exchange.relay.cap = 100
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.minutes(1))
    #expect((200...300).contains(exchange.handed.count))
    #expect(exchange.established == [key])
}

@Test func incompletePageIsReadAgain() throws {
    let stage = SweepStage(filter: Filter(kinds: [.textNote]), reading: .stored, pages: 10)
    var paging = Paging(stage, limit: 3)
    var scanner = EventScanner()
    let events = try notes(5) { 100 - Int64($0) }.map { event in
        try event.json.withUnsafeBytes { try scanner.scan($0) }
    }
    let broken = events[0...1].map { paging.takes($0) }
    #expect(broken == [true, true])
    paging.beginPageAgain()
    let taken = events[0...2].map { paging.takes($0) }
    #expect(taken == [true, true, true])
    let goesOn = paging.nextPage().follows
    #expect(goesOn)
    #expect(paging.filter.until == 99)
    let next = events[2...4].map { paging.takes($0) }
    #expect(next == [false, true, true])
    let goesFurther = paging.nextPage().follows
    #expect(goesFurther)
    let last = paging.takes(events[4])
    #expect(!last)
    let goesOnAfterTheLast = paging.nextPage().follows
    #expect(!goesOnAfterTheLast)
}
