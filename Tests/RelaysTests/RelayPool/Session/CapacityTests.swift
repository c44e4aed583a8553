import Core
import Nostr
import Testing

@testable import Relays

/// Returns a session whose open filters exceed the bytes that the relay of nostr-sdk allows.
private func greedy(_ words: String? = nil) -> Exchange {
    var exchange = Exchange { $0.openBytes = .mebibytes(4) }
    exchange.relay.maxBytesOpen = 1_048_576
    if let words { exchange.relay.wordsForBytesOpen = words }
    exchange.watchOwnKey()
    exchange.connect()
    return exchange
}

@Test func fullRelayIsAskedByKind() {
    var exchange = greedy()
    exchange.stream(1...10_000, in: .seconds(3))
    exchange.pass(.minutes(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 10_000)
    #expect((1...3).contains(exchange.relay.refused.count))
    #expect(exchange.relay.requests.count < 150)
    #expect(exchange.relay.open.count == 2)
    #expect(!exchange.marks.isEmpty)
    let live = Event.sample(1, to: .sample(9_999), at: exchange.seconds)
    exchange.arrive(live)
    #expect(exchange.readings(of: live) == [.live])

    let refused = exchange.relay.refused.count
    exchange.disconnect()
    exchange.connect()
    #expect(exchange.session.live.policy.isAskedByKind)
    exchange.pass(.minutes(1))
    #expect(exchange.relay.refused.count == refused)
}

@Test(arguments: ["rate-limited: no", "error: cannot subscribe", ""])
func silentlyFullRelayIsDetected(_ words: String) {
    var exchange = greedy(words)
    exchange.stream(1...10_000, in: .seconds(3))
    exchange.pass(.minutes(4))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 10_000)
    #expect(exchange.relay.refused.count < 20)
    #expect(exchange.relay.requests.count < 150)
    #expect(!exchange.marks.isEmpty)
}

@Test func guessedLimitIsRetriedAfterADay() {
    var exchange = greedy("rate-limited: no")
    exchange.stream(1...10_000, in: .seconds(3))
    exchange.pass(.minutes(4))
    #expect(exchange.session.live.policy.isAskedByKind)
    exchange.relay.maxBytesOpen = .max
    exchange.disconnect()
    exchange.connect()
    exchange.pass(.minutes(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    exchange.pass(.days(1))
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 12)
}

@Test func subscriptionsAreFreedIfKindsCannotBeAskedFor() throws {
    var exchange = greedy()
    exchange.watch(1...2_500)
    exchange.pass(.minutes(1))
    #expect(exchange.established.count == 2_500)
    exchange.relay.maxBytesOpen = exchange.relay.bytesOpen
    exchange.relay.endsStoredEvents = false
    exchange.watch([3_000])
    exchange.pass(.seconds(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.refused.count == 2)
    // One of three chunks was closed for it, and the others still get events.
    let between = [1, 1_200, 2_400].enumerated().map { Event.sample($0, to: .sample($1), at: exchange.seconds) }
    for event in between { exchange.arrive(event) }
    #expect(between.filter { exchange.readings(of: $0) == [.live] }.count == 2)
    exchange.relay.endsStoredEvents = true
    let byKind = try #require(exchange.liveRequests.last)
    exchange.hear(.endOfStoredEvents(byKind.id))
    exchange.pass(.minutes(1))
    for event in between { #expect([.live, .stored].contains(exchange.readings(of: event).first)) }
    #expect(exchange.established.count == 2_501)
    #expect(exchange.relay.open.count == 2)
    #expect(!exchange.marks.isEmpty)
}

@Test func catchUpYieldsToLiveSubscriptions() {
    var exchange = greedy()
    exchange.watch(1...2_500)
    exchange.pass(.minutes(1))
    exchange.relay.endsStoredEvents = false
    exchange.watch([2_501])
    exchange.pass(.seconds(1))
    let pending = exchange.liveRequests.last
    if let pending { exchange.hear(.endOfStoredEvents(pending.id)) }
    #expect(exchange.session.catchUp.isReading)
    exchange.relay.maxBytesOpen = exchange.relay.bytesOpen
    exchange.watch(2_502...3_500)
    exchange.pass(.seconds(10))
    exchange.relay.endsStoredEvents = true
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.values.contains { $0.contains { $0.tags.isEmpty && $0.limit == 1 } })
    exchange.pass(.minutes(2))
    #expect(exchange.established.count == 3_500)
}

@Test func aSmallRelayIsAskedForFewerKeysAtATime() {
    var exchange = greedy()
    exchange.relay.maxBytesOpen = 100_000
    exchange.watch(1...2_000)
    exchange.pass(.minutes(5))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 2_000)
    #expect(exchange.relay.peakBytesOpen <= 100_000)
    #expect(exchange.relay.requests.count < 100)
}

@Test func fullRelayThatRefusesKindsIsPolled() {
    var exchange = greedy()
    exchange.relay.maxBytesOpen = 300_000
    exchange.relay.refusal = { filters in
        filters.contains { $0.tags.isEmpty && $0.authors == nil } ? "rate-limited: name somebody" : nil
    }
    exchange.watch(1...5_000)
    exchange.pass(.minutes(15))
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 5_000)
    #expect(!exchange.marks.isEmpty)
    let events = (0..<50).map { Event.sample($0, to: .sample(1 + $0 * 100), at: exchange.seconds) }
    for event in events { exchange.arrive(event) }
    exchange.pass(.seconds(200))
    for event in events { #expect(!exchange.readings(of: event).isEmpty) }
}

@Test func slowRelayIsNotMistakenForAFullOne() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    var served = 0
    exchange.relay.refusal = { _ in
        served += 1
        return served % 3 == 0 ? nil : "rate-limited: slow down"
    }
    exchange.watch(1...500)
    exchange.connect()
    exchange.pass(.hours(1))
    #expect(exchange.established.count == 500)
    #expect(!exchange.session.live.policy.isAskedByKind)
}

@Test func manyNewKeysAreReadWithBoundedRequestsAndBytes() {
    var exchange = Exchange()
    exchange.watchOwnKey()
    exchange.connect()
    let began = exchange.now
    exchange.stream(1...10_000, in: .seconds(3))
    while exchange.established.count < 10_000, exchange.now < began + .minutes(1) { exchange.pass(.milliseconds(100)) }
    #expect(exchange.established.count == 10_000)
    #expect(exchange.now - began < .seconds(10))
    #expect(exchange.relay.requests.count < 50)
    #expect(exchange.relay.refused.isEmpty)
    #expect(exchange.relay.peakBytesOpen <= 524_288)
    // Each key twice in `authors` and three times in a `#p`, and little else.
    #expect(exchange.relay.bytesRequested < 10_000 * 67 * 5 + 400_000)
}

@Test func slowlyFillingChunkIsSentOccasionally() {
    var exchange = Exchange()
    exchange.watch(1...800)
    exchange.connect()
    exchange.pass(.minutes(1))
    let before = exchange.relay.bytesRequested
    for key in 801...920 {
        exchange.watch([key])
        exchange.pass(.seconds(1))
    }
    exchange.pass(.seconds(10))
    #expect(exchange.established.count == 920)
    #expect(exchange.relay.bytesRequested - before < 130 * 32_768 + 150_000)
    #expect(exchange.liveRequests.count < 40)
    exchange.pass(.seconds(10))
    exchange.watch([1_000])
    #expect(exchange.liveRequests.last?.filters.first?.tags["p"]?.contains(PublicKey.sample(1_000).hex) == true)
}

/// An hour of a relay with a limit on bytes, which it reports or not, while keys come by the hundred, events flow and
/// connections break.
@Test(arguments: 1...12) func fullRelayMissesNoEvents(_ seed: Int) {
    var dice = Dice(state: UInt64(seed) &* 0x2545_f491_4f6c_dd1d)
    var exchange = Exchange {
        $0.keysPerFilter = 100
        $0.slack = .seconds(2)
    }
    exchange.relay.maxBytesOpen = [40_000, 70_000, 120_000][seed % 3]
    exchange.relay.wordsForBytesOpen = ["rate-limited: subscriptions exceed max size", "rate-limited: no"][seed % 2]
    exchange.relay.capsTogether = seed % 4 < 2
    exchange.relay.cap = [17, 500][seed % 2]
    exchange.relay.maxSubscriptions = [5, 20][seed % 2]
    var isConnected = false
    var count = 0
    var news: [(event: Event, key: Int)] = []
    for number in 0..<200 {
        switch dice.roll(12) {
        case 0:
            if isConnected { exchange.disconnect() }
            isConnected.toggle()
            if isConnected { exchange.connect(mark: exchange.marks.last) }
        case 1, 2:
            guard count < 1_500 else { break }
            let size = 1 + dice.roll(200)
            exchange.watch((count + 1)...(count + size))
            count += size
        case 3:
            exchange.pass(.milliseconds(dice.roll(90_000)))
        default:
            exchange.pass(.milliseconds(1_000 + dice.roll(2_000)))
            guard count > 0 else { break }
            let key = 1 + dice.roll(count)
            let event = Event.sample(number, to: .sample(key), at: exchange.seconds)
            news.append((event, key))
            if isConnected { exchange.arrive(event) } else { exchange.relay.events.append(event) }
        }
    }
    if !isConnected { exchange.connect(mark: exchange.marks.last) }
    exchange.pass(.minutes(50))
    #expect(exchange.established.count == count)
    #expect(Set(exchange.established).count == count)
    #expect(exchange.marks == exchange.marks.sorted())
    #expect(exchange.marks.last.map { exchange.seconds - $0 < 60 } == true)
    for (event, key) in news {
        let first = exchange.firstDealtWith[event.id]
        #expect(first == .live || first == .stored, "\(event.createdAt - Exchange.start) s, key \(key)")
    }
}
