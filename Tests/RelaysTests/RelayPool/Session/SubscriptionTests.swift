import Core
import Nostr
import Testing

@testable import Relays

private func named(_ filters: [Filter]) -> Set<String> {
    filters.reduce(into: []) { $0.formUnion($1.tags["p"] ?? []) }
}

@Test func newKeyIsAddedWithoutAGap() throws {
    var exchange = Exchange()
    exchange.watch(1...3)
    exchange.connect()
    exchange.pass(.seconds(5))
    let first = try #require(exchange.liveRequests.last)
    exchange.relay.endsStoredEvents = false
    exchange.watch([4])
    exchange.pass(.milliseconds(100))
    let second = try #require(exchange.liveRequests.last)
    #expect(second.id != first.id)
    #expect(named(second.filters).count == 4)
    #expect(exchange.relay.open[first.id] != nil)
    let between = Event.sample(1, .giftWrap, to: .sample(1), at: exchange.seconds)
    exchange.arrive(between)
    #expect(exchange.readings(of: between) == [.live])
    exchange.relay.endsStoredEvents = true
    exchange.hear(.endOfStoredEvents(second.id))
    #expect(exchange.relay.open[first.id] == nil)
    let after = Event.sample(2, to: .sample(4), at: exchange.seconds)
    exchange.arrive(after)
    #expect(exchange.readings(of: after) == [.live])
    exchange.pass(.seconds(5))
    #expect(exchange.established.count == 4)
}

@Test func newKeyChangesOnlyItsChunk() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.watch(1...550)
    exchange.connect()
    exchange.pass(.minutes(1))
    #expect(exchange.liveRequests.count == 6)
    exchange.watch([1_000])
    exchange.pass(.seconds(10))
    #expect(exchange.liveRequests.count == 7)
    #expect(named(exchange.liveRequests.last?.filters ?? []).count == 51)
    exchange.update([.remove(.sample(7))])
    exchange.pass(.seconds(10))
    #expect(exchange.liveRequests.count == 7)
    exchange.watch([1_001])
    exchange.pass(.seconds(10))
    #expect(exchange.liveRequests.count == 8)
    #expect(named(exchange.liveRequests.last?.filters ?? []).count == 100)
}

@Test func aBurstOfRegistrationsCausesFewRequests() {
    var exchange = Exchange()
    exchange.connect()
    for number in 0..<500 {
        exchange.watch([number])
        exchange.pass(.milliseconds(20))
    }
    exchange.pass(.minutes(1))
    #expect(exchange.liveRequests.count <= 12)
    #expect(exchange.established.count == 500)
    #expect(exchange.session.requests.lastNumber < 150)
}

@Test func unwatchedKeyLeavesItsSubscriptionInTime() {
    var exchange = Exchange()
    exchange.watch(1...3)
    exchange.connect()
    exchange.pass(.seconds(5))
    exchange.update([.remove(.sample(2))])
    exchange.pass(.seconds(61))
    #expect(named(exchange.liveRequests.last?.filters ?? []) == [PublicKey.sample(1).hex, PublicKey.sample(3).hex])
    exchange.update([.remove(.sample(1)), .remove(.sample(3))])
    #expect(exchange.relay.open.isEmpty)
}

@Test func tenThousandKeysAreWatchedWithBoundedRequests() {
    var exchange = Exchange { $0.openBytes = .mebibytes(4) }
    exchange.watch(1...10_000)
    exchange.watchOwnKey()
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(exchange.established.count == 10_000)
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 12)
    #expect(exchange.relay.peakOpen <= 20)
    #expect(exchange.session.requests.lastNumber < 100)
    let first = exchange.session.requests.lastNumber
    exchange.disconnect()
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(exchange.session.requests.lastNumber - first < 60)
    #expect(exchange.relay.requests.allSatisfy { ClientCommand.request($0.id, $0.filters).json.count <= 131_072 })
}

@Test func requestsSwitchToKindsBeyondTheLimitAndBackWithAMargin() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.relay.maxSubscriptions = 8
    exchange.watch(1...500)
    exchange.connect { $0.maxSubscriptions = 8 }
    exchange.pass(.minutes(1))
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 5)
    exchange.watch(501...600)
    exchange.pass(.minutes(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 1)
    #expect(exchange.relay.open.values.allSatisfy { named($0).isEmpty && $0.first?.kinds?.contains(.giftWrap) == true })
    #expect(exchange.established.count == 600)
    let requests = exchange.liveRequests.count
    let late = Event.sample(1, to: .sample(700), at: exchange.seconds + 1)
    exchange.watch([700])
    exchange.arrive(late)
    exchange.pass(.seconds(10))
    #expect(exchange.readings(of: late).first == .live)
    #expect(exchange.established.count == 601)
    #expect(exchange.liveRequests.count == requests)
    exchange.update((401...600).map { .remove(.sample($0)) })
    exchange.pass(.seconds(10))
    #expect(exchange.session.live.policy.isAskedByKind)
    exchange.update((371...400).map { .remove(.sample($0)) })
    exchange.pass(.seconds(10))
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 4)
    #expect(exchange.relay.peakOpen <= 8)
    let live = Event.sample(2, to: .sample(1), at: exchange.seconds)
    exchange.arrive(live)
    #expect(exchange.readings(of: live) == [.live])
}

@Test func modeChangeMissesNoEvents() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.watch(1...500, since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start) { $0.maxSubscriptions = 8 }
    exchange.pass(.minutes(1))
    exchange.relay.endsStoredEvents = false
    exchange.watch(501...700)
    exchange.pass(.seconds(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    let between = Event.sample(1, to: .sample(450), at: exchange.seconds)
    exchange.arrive(between)
    #expect(exchange.readings(of: between) == [.live])
}

@Test func subscriptionsByNameStayWithinAGuestsLimit() {
    var exchange = Exchange()
    exchange.watch(1...2_900)
    exchange.connect { $0.maxSubscriptions = 200 }
    exchange.pass(.minutes(1))
    #expect(!exchange.session.live.policy.isAskedByKind)
    exchange.watch(2_901...3_000)
    exchange.pass(.minutes(1))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 3_000)
    #expect(exchange.relay.peakBytesOpen <= 524_288)
}

@Test func messagesStayWithinTheRelaysLength() {
    var exchange = Exchange()
    exchange.watch(1...1_000)
    exchange.connect {
        $0.maxMessageLength = 16_384
        $0.maxSubscriptions = 50
    }
    exchange.pass(.minutes(1))
    #expect(exchange.relay.requests.allSatisfy { ClientCommand.request($0.id, $0.filters).json.count <= 16_384 })
    #expect(exchange.established.count == 1_000)
}

@Test(arguments: [3, 4, 5]) func relayWithFewSubscriptionsCatchesUp(_ subscriptions: Int) {
    var exchange = Exchange { $0.keysPerFilter = 50 }
    exchange.relay.maxSubscriptions = subscriptions
    exchange.watch(1...200)
    exchange.watchOwnKey()
    exchange.connect { $0.maxSubscriptions = subscriptions }
    exchange.pass(.seconds(200))
    #expect(exchange.established.count == 200)
    #expect(!exchange.marks.isEmpty)
    #expect(exchange.relay.peakOpen <= subscriptions)
}

@Test func subscriptionIsReplacedUnderItsIDAndTheGapIsRead() throws {
    var exchange = Exchange()
    exchange.relay.maxSubscriptions = 3
    exchange.watch([1], since: 1_000, isEstablished: true)
    exchange.watchOwnKey()
    exchange.connect(mark: Exchange.start) { $0.maxSubscriptions = 3 }
    exchange.pass(.minutes(1))
    exchange.relay.endsStoredEvents = false
    exchange.fetch(1, [Filter(ids: [])], within: .seconds(100))
    let sent = exchange.seconds
    exchange.watch([2])
    exchange.pass(.seconds(1))
    let replaced = try #require(exchange.liveRequests.last)
    #expect(exchange.liveRequests.filter { $0.id == replaced.id }.count == 2)
    exchange.relay.endsStoredEvents = true
    exchange.hear(.endOfStoredEvents(replaced.id))
    exchange.pass(.minutes(2))
    let swept = exchange.relay.requests.flatMap(\.filters).filter {
        $0.since == sent - 900 && $0.tags["p"] == [PublicKey.sample(1).hex]
    }
    #expect(!swept.isEmpty)
    #expect(exchange.established == [.sample(2)])
}
