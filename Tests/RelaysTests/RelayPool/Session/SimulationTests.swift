import Core
import Nostr
import Testing

@testable import Relays

/// Hours of a relay that is killed, restarts, rejects requests, has little capacity and keeps all events. Keys and
/// events keep coming, some events are not settled at first, and the router is killed too.
@Test(arguments: 1...24) func noEventIsMissedThroughFailures(_ seed: Int) {
    var dice = Dice(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
    var exchange = Exchange {
        $0.keysPerFilter = 8
        // The minimum for whole seconds, so that it hides no error.
        $0.slack = .seconds(2)
    }
    let subscriptions = [3, 5, 8, 20][seed % 4]
    exchange.relay.cap = [3, 17, 500][seed % 3]
    exchange.relay.maxSubscriptions = subscriptions
    exchange.relay.ignoresLimit = seed % 7 == 0
    if seed % 2 == 0 { exchange.watchOwnKey() }
    var isConnected = false
    var watchedSince: [Int: Int64] = [:]
    var news: [(event: Event, key: Int)] = []
    var old: [Event] = []
    var number = 0

    for _ in 0..<400 {
        switch dice.roll(20) {
        case 0:
            if isConnected { exchange.disconnect() }
            isConnected.toggle()
            if isConnected { exchange.connect(mark: exchange.marks.last) { $0.maxSubscriptions = subscriptions } }
        case 1, 2:
            let key = dice.roll(120)
            guard watchedSince[key] == nil else { break }
            watchedSince[key] = exchange.seconds
            number += 1
            let before = Event.sample(
                number,
                .giftWrap,
                to: .sample(key),
                at: exchange.seconds - 1 - Int64(dice.roll(170_000))
            )
            old.append(before)
            exchange.relay.events.append(before)
            exchange.watch([key])
        case 3:
            guard let id = exchange.relay.open.keys.sorted(by: { $0.name < $1.name }).first else { break }
            exchange.drop(id, ["error: idle", "rate-limited: slow", ""][dice.roll(3)])
        case 4:
            let isBad = dice.roll(2) == 0
            exchange.relay.refusal = { _ in isBad ? "error: busy" : nil }
        case 5:
            exchange.relay.endsStoredEvents.toggle()
        case 6:
            exchange.settlesAtOnce.toggle()
        case 7:
            let remainder = dice.roll(4)
            exchange.dealsWith = { remainder == 0 || $0.createdAt % 3 != Int64(remainder - 1) }
        case 8:
            exchange.settle()
        case 9 where dice.roll(3) == 0:
            exchange.restart(watchedSince)
            isConnected = false
            if seed % 2 == 0 { exchange.watchOwnKey() }
        case 9, 10:
            exchange.pass(.milliseconds(dice.roll(60_000)))
        default:
            exchange.pass(.milliseconds(1_000 + dice.roll(1_000)))
            guard let key = watchedSince.keys.sorted().dropFirst(dice.roll(60)).first else { break }
            number += 1
            let event = Event.sample(number, to: .sample(key), at: exchange.seconds)
            news.append((event, key))
            if isConnected {
                exchange.arrive(event)
            } else {
                exchange.relay.events.append(event)
            }
        }
    }

    exchange.relay.refusal = { _ in nil }
    exchange.relay.endsStoredEvents = true
    exchange.dealsWith = { _ in true }
    exchange.settlesAtOnce = true
    exchange.settle()
    if !isConnected { exchange.connect(mark: exchange.marks.last) { $0.maxSubscriptions = subscriptions } }
    exchange.pass(.minutes(50))

    #expect(Set(exchange.established) == Set(watchedSince.keys.map { PublicKey.sample($0) }))
    #expect(exchange.established.count == watchedSince.count)
    #expect(exchange.marks == exchange.marks.sorted())
    #expect(exchange.marks.last.map { exchange.seconds - $0 < 60 } == true)
    #expect(exchange.relay.peakOpen <= subscriptions)
    for (event, key) in news {
        let first = exchange.firstDealtWith[event.id]
        #expect(first == .live || first == .stored, "\(event.createdAt - Exchange.start) s, key \(key)")
    }
    for event in old {
        #expect(exchange.firstDealtWith[event.id] == .baseline)
    }
}
