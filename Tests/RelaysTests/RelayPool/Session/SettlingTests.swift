import Core
import Nostr
import Testing

@testable import Relays

@Test func marksWaitForUnsettledEvents() {
    var exchange = Exchange()
    exchange.settlesAtOnce = false
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.seconds(5))
    let before = exchange.marks
    exchange.arrive(.sample(1, to: .sample(5), at: exchange.seconds))
    exchange.pass(.minutes(5))
    #expect(exchange.marks.allSatisfy { $0 <= Exchange.start + 35 })
    exchange.settle()
    exchange.pass(.seconds(100))
    #expect(exchange.marks.count > before.count)
    #expect(exchange.marks.last.map { $0 >= Exchange.start + 300 } == true)
}

@Test func marksAdvanceWithManyEventsInFlight() {
    var exchange = Exchange()
    exchange.settlesAtOnce = false
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.seconds(5))
    for number in 0..<200 {
        exchange.settle()
        exchange.arrive(.sample(number, to: .sample(5), at: exchange.seconds))
        exchange.pass(.seconds(1))
        // Something is always out, but never for long.
    }
    #expect(exchange.marks.count >= 4)
    #expect(exchange.marks.count <= 9)
    #expect(exchange.marks == exchange.marks.sorted())
}

@Test func unhandledLiveEventIsReadAgain() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    let marks = exchange.marks
    exchange.dealsWith = { _ in false }
    let event = Event.sample(1, .giftWrap, to: .sample(5), at: exchange.seconds - 100_000)
    exchange.arrive(event)
    exchange.pass(.minutes(2))
    #expect(exchange.marks == marks)
    let tries = exchange.readings(of: event)
    #expect(tries.first == .live)
    #expect((3...8).contains(tries.count))
    #expect(tries.dropFirst().allSatisfy { $0 == .stored })
    exchange.dealsWith = { _ in true }
    exchange.pass(.seconds(400))
    #expect(exchange.readings(of: event).count == tries.count + 1)
    #expect(exchange.marks.count > marks.count)
}

@Test func keyIsEstablishedOnlyOnceItsEventsAreHandled() {
    var exchange = Exchange()
    let wrap = Event.sample(1, .giftWrap, to: .sample(5), at: Exchange.start - 60)
    let note = Event.sample(2, to: .sample(5), at: Exchange.start)
    exchange.relay.events = [wrap, note]
    exchange.dealsWith = { _ in false }
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.seconds(40))
    #expect(exchange.established == [])
    #expect(Set(exchange.readings(of: wrap)) == [.baseline])
    #expect(Set(exchange.readings(of: note)) == [.stored])
    exchange.dealsWith = { _ in true }
    exchange.pass(.seconds(700))
    #expect(exchange.established == [.sample(5)])
    #expect(exchange.readings(of: wrap).count > 1)
}

@Test func eventTheRelayLostIsNotRequestedForever() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    exchange.dealsWith = { _ in false }
    exchange.arrive(.sample(1, .ephemeralGiftWrap, to: .sample(5), at: exchange.seconds))
    let requests = exchange.relay.requests.count
    exchange.pass(.seconds(400))
    #expect(exchange.relay.requests.count == requests + 1)
    #expect(exchange.marks.last.map { $0 > Exchange.start + 300 } == true)
}

@Test func manyUnhandledEventsAreReadAgainTogether() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    exchange.dealsWith = { _ in false }
    let events = (0..<2_500).map { Event.sample($0, to: .sample(5), at: exchange.seconds + Int64($0 / 100)) }
    for event in events { exchange.arrive(event) }
    exchange.dealsWith = { _ in true }
    let requests = exchange.relay.requests.count
    exchange.pass(.seconds(200))
    let stored = Set(exchange.handed.filter { $0.reading == .stored }.map(\.id))
    #expect(stored.isSuperset(of: events.map(\.id)))
    #expect(exchange.relay.requests.count < requests + 20)
}

@Test func resultsAfterADisconnectCount() {
    var exchange = Exchange()
    exchange.settlesAtOnce = false
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    let event = Event.sample(1, to: .sample(5), at: exchange.seconds)
    exchange.arrive(event)
    exchange.disconnect()
    exchange.connect(mark: Exchange.start)
    exchange.dealsWith = { _ in false }
    exchange.settle()
    exchange.dealsWith = { _ in true }
    for _ in 0..<10 {
        exchange.pass(.seconds(10))
        exchange.settle()
    }
    #expect(exchange.readings(of: event).filter { $0 == .stored }.count >= 1)
    #expect(exchange.marks.last.map { $0 > Exchange.start + 100 } == true)
}

@Test func cleanEndSetsAMarkAndALostConnectionDoesNot() {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.seconds(35))
    let marks = exchange.marks
    exchange.now += .seconds(20)
    var lost = exchange
    lost.disconnect()
    #expect(lost.marks == marks)
    exchange.disconnect(isClean: true)
    #expect(exchange.marks.last == exchange.seconds)
}
