import Core
import Nostr
import Testing

@testable import Relays

@Test func eventStoredBeforeItsKeyWasWatchedIsBaseline() {
    var exchange = Exchange()
    let start = Exchange.start
    let oldWrap = Event.sample(1, .giftWrap, to: .sample(5), at: start - 3_600)
    let oldNote = Event.sample(2, to: .sample(5), at: start - 60)
    let oldFollow = Event.sample(3, .contactList, to: .sample(5), at: start - 90_000)
    let freshNote = Event.sample(4, to: .sample(5), at: start + 1)
    let freshWrap = Event.sample(5, .giftWrap, to: .sample(5), at: start + 1)
    let list = Event.sample(6, .relayList, by: .sample(5), at: start - 9_000_000)
    exchange.relay.events = [oldWrap, oldNote, oldFollow, freshNote, freshWrap, list]
    exchange.watch([5], since: start)
    exchange.now += .seconds(2)
    exchange.connect()
    exchange.pass(.seconds(10))
    #expect(exchange.readings(of: oldWrap) == [.baseline])
    #expect(exchange.readings(of: oldNote) == [])
    #expect(exchange.readings(of: oldFollow) == [.baseline])
    #expect(exchange.readings(of: freshNote) == [.stored])
    #expect(exchange.readings(of: freshWrap) == [.stored])
    #expect(exchange.readings(of: list) == [.stored])
    #expect(exchange.established == [.sample(5)])
    let live = Event.sample(7, .giftWrap, to: .sample(5), at: start - 100_000)
    exchange.arrive(live)
    #expect(exchange.readings(of: live) == [.live])
}

@Test func downtimeIsReadFromTheMarkAndGiftWrapsTwoDaysEarlier() {
    var exchange = Exchange()
    let mark = Exchange.start - 7_200
    let missedNote = Event.sample(1, to: .sample(5), at: mark + 10)
    let missedWrap = Event.sample(2, .giftWrap, to: .sample(5), at: mark - 172_000)
    let formerNote = Event.sample(3, to: .sample(5), at: mark - 10_000)
    exchange.relay.events = [missedNote, missedWrap, formerNote]
    exchange.watch([5], since: mark - 1_000_000, isEstablished: true)
    exchange.connect(mark: mark)
    exchange.pass(.minutes(1))
    #expect(exchange.readings(of: missedNote) == [.stored])
    #expect(exchange.readings(of: missedWrap) == [.stored])
    #expect(exchange.readings(of: formerNote) == [])
    #expect(exchange.established == [])
    #expect(exchange.marks.last.map { $0 >= Exchange.start } == true)
}

@Test func reconnectReadsFromThePreviousConnectionsEnd() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start - 100_000)
    exchange.pass(.seconds(40))
    let reached = exchange.marks.last
    #expect(reached != nil)
    exchange.disconnect()
    let missed = Event.sample(1, to: .sample(5), at: exchange.seconds + 5)
    exchange.relay.events.append(missed)
    exchange.pass(.seconds(20))
    let requestsBefore = exchange.relay.requests.count
    exchange.connect(mark: Exchange.start - 100_000)
    exchange.pass(.seconds(10))
    #expect(exchange.readings(of: missed) == [.stored])
    let notes = exchange.relay.requests.dropFirst(requestsBefore).flatMap(\.filters).filter {
        $0.kinds?.contains(.textNote) == true && $0.limit != 1
    }
    #expect(notes.map(\.since) == [reached.map { $0 - 900 }, reached.map { $0 - 900 }])
}

@Test func catchUpIsLimitedAsConfigured() {
    var exchange = Exchange { $0.catchUp = .seconds(1_000) }
    exchange.watch([5], since: 1, isEstablished: true)
    exchange.connect(mark: 5_000)
    exchange.pass(.seconds(5))
    let notes = exchange.relay.requests.flatMap(\.filters).filter {
        $0.kinds?.contains(.textNote) == true && $0.limit != 1
    }
    #expect(notes.map(\.since) == [Exchange.start - 1_000])
}

@Test func returningKeyIsReadFromItsOwnTime() {
    var exchange = Exchange()
    exchange.watch([1], isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(2))
    let silent = Exchange.start - 3_000
    let missed = Event.sample(1, to: .sample(2), at: silent + 60)
    exchange.relay.events.append(missed)
    exchange.watch([2], since: silent, isEstablished: true)
    exchange.pass(.seconds(5))
    #expect(exchange.readings(of: missed) == [.stored])
    #expect(exchange.established == [])
}

@Test func keyWatchedForMoreIsReadAgain() {
    var exchange = Exchange()
    let key = PublicKey.sample(2)
    exchange.update([.put(Watched(key: key, interest: .authored, since: Exchange.start, isEstablished: true))])
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    let missed = Event.sample(1, to: key, at: Exchange.start - 50)
    exchange.relay.events.append(missed)
    exchange.update([
        .put(Watched(key: key, interest: [.addressed, .authored], since: Exchange.start - 60, isEstablished: true))
    ])
    exchange.pass(.seconds(5))
    #expect(exchange.readings(of: missed) == [.stored])
}

@Test func storedEventsThatComeWithALiveSubscriptionAreLeftToTheCatchUp() {
    var exchange = Exchange()
    exchange.relay.ignoresLimit = true
    exchange.relay.ignoresSince = true
    let ancient = Event.sample(1, to: .sample(5), at: 1_000)
    let oldWrap = Event.sample(2, .giftWrap, to: .sample(5), at: Exchange.start - 60)
    exchange.relay.events = [ancient, oldWrap]
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.seconds(5))
    #expect(exchange.readings(of: ancient) == [])
    #expect(exchange.readings(of: oldWrap) == [.baseline])
}

@Test func relayThatIgnoresKindsDoesNotTurnNewEventsIntoBaseline() {
    var exchange = Exchange()
    exchange.relay.ignoresKinds = true
    exchange.relay.ignoresUntil = true
    let news = Event.sample(1, to: .sample(5), at: Exchange.start + 1)
    let wrap = Event.sample(2, .giftWrap, to: .sample(5), at: Exchange.start + 1)
    exchange.relay.events = [news, wrap]
    exchange.watch([5])
    exchange.now += .seconds(2)
    exchange.connect()
    exchange.pass(.seconds(5))
    #expect(exchange.readings(of: news) == [.stored])
    #expect(exchange.readings(of: wrap) == [.stored])
}

@Test func otherAccountsMessagesAreNotBaseline() {
    var exchange = Exchange()
    exchange.relay.ignoresTags = true
    let own = Event.sample(1, .giftWrap, to: .sample(5), at: Exchange.start - 3_600)
    let others = Event.sample(2, .giftWrap, to: .sample(6), at: Exchange.start - 3_600)
    exchange.relay.events = [own, others]
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.seconds(10))
    #expect(exchange.readings(of: own) == [.baseline])
    #expect(exchange.readings(of: others) == [])
    #expect(exchange.established == [.sample(5)])
}

@Test func timeReachedByAFastClockIsReadAgain() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.now += .days(1)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.seconds(40))
    #expect(exchange.marks.last.map { $0 > Exchange.start + 80_000 } == true)
    exchange.disconnect()
    exchange.now = Timestamp(seconds: Exchange.start + 100)
    let missed = Event.sample(1, to: .sample(5), at: Exchange.start + 50)
    exchange.relay.events.append(missed)
    exchange.connect()
    exchange.pass(.seconds(5))
    #expect(exchange.readings(of: missed) == [.stored])
}

@Test func liveEventDuringABaselineReadIsLive() {
    var race = Exchange()
    race.relay.endsStoredEvents = false
    race.watch([5])
    race.connect()
    for request in race.liveRequests { race.hear(.endOfStoredEvents(request.id)) }
    #expect(race.session.catchUp.sweeps.count == 1)
    let wrap = Event.sample(2, .giftWrap, to: .sample(5), at: Exchange.start - 50_000)
    race.arrive(wrap)
    race.relay.endsStoredEvents = true
    for request in race.relay.requests { race.hear(.endOfStoredEvents(request.id)) }
    race.pass(.seconds(10))
    #expect(race.established == [.sample(5)])
    #expect(race.readings(of: wrap) == [.live])
}

@Test func aKeyRemovedWhileItIsReadForIsNotEstablished() {
    var exchange = Exchange()
    exchange.settlesAtOnce = false
    exchange.relay.events = [.sample(1, to: .sample(5), at: Exchange.start)]
    exchange.watch([5, 6])
    exchange.connect()
    exchange.pass(.seconds(2))
    exchange.update([.remove(.sample(5))])
    for _ in 0..<10 {
        exchange.settle()
        exchange.pass(.seconds(1))
    }
    #expect(exchange.established == [.sample(6)])
}

@Test func registrationsForOurOwnKeyAreReadAndHeard() {
    var exchange = Exchange()
    let own = [["d", PublicKey.sample(0).hex]]
    let stored = Event.sample(1, .addressablePushRegistration, at: 500, tags: own)
    exchange.relay.events = [stored]
    exchange.connect()
    exchange.watchOwnKey()
    exchange.pass(.seconds(2))
    #expect(exchange.readings(of: stored).contains(.stored))
    let request = Event.sample(2, .remoteSigning, to: .sample(0), at: exchange.seconds - 30)
    exchange.arrive(request)
    #expect(exchange.readings(of: request) == [.live])
}
