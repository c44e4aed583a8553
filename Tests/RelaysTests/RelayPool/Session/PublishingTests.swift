import Core
import Nostr
import Testing

@testable import Relays

private let event = Event.sample(1, .notificationRelay, at: Exchange.start)

@Test func anEventIsPublishedWhenConnected() {
    var exchange = Exchange()
    exchange.publish(event)
    #expect(exchange.session.hasPendingRequests)
    #expect(exchange.relay.published.isEmpty)
    exchange.pass(.seconds(5))
    exchange.connect()
    #expect(exchange.relay.published == [event])
    #expect(exchange.published == [event.id: true])
    #expect(!exchange.session.hasPendingRequests)
}

@Test func publishingEndsAtItsDeadline() {
    var exchange = Exchange()
    exchange.publish(event)
    exchange.pass(.milliseconds(29_999))
    #expect(exchange.published.isEmpty)
    exchange.pass(.milliseconds(1))
    #expect(exchange.published == [event.id: false])
}

@Test func publishingAuthenticatesOnRequest() {
    var exchange = Exchange()
    var isOpen = false
    exchange.relay.publishRefusal = { _ in isOpen ? nil : "auth-required: who?" }
    exchange.connect()
    exchange.publish(event)
    isOpen = true
    exchange.hear(.authenticate(challenge: "c"))
    #expect(exchange.challenges == ["c"])
    #expect(exchange.published == [event.id: true])
}

@Test func anEventIsPublishedAgainAfterALimitAndALostConnection() {
    var exchange = Exchange()
    exchange.relay.publishRefusal = { _ in "rate-limited: later" }
    exchange.connect()
    exchange.publish(event)
    exchange.relay.publishRefusal = { _ in nil }
    exchange.disconnect()
    exchange.connect()
    #expect(exchange.published == [event.id: true])
}

@Test(arguments: ["blocked: no", "invalid: bad", "no"]) func aRefusalIsFinal(_ message: String) {
    var exchange = Exchange()
    exchange.relay.publishRefusal = { _ in message }
    exchange.connect()
    exchange.publish(event)
    #expect(exchange.published == [event.id: false])
}

@Test func aDuplicateIsPublished() {
    var exchange = Exchange()
    exchange.relay.publishRefusal = { _ in "duplicate: have it" }
    exchange.connect()
    exchange.publish(event)
    #expect(exchange.published == [event.id: true])
}

@Test func fetchedEventsAreHandedOverBeforeTheEnd() {
    var exchange = Exchange()
    let profile = Event.sample(2, .profile, by: .sample(5), at: 1_000)
    exchange.relay.events = [profile]
    exchange.connect()
    exchange.fetch(7, [Filter(authors: [.sample(5)], kinds: [.profile])])
    #expect(exchange.readings(of: profile) == [.fetched])
    #expect(exchange.fetchesEnded == [7])
    #expect(exchange.relay.open.isEmpty)
}

@Test func aFetchEndsAtItsDeadline() {
    var exchange = Exchange()
    exchange.relay.endsStoredEvents = false
    exchange.connect()
    exchange.fetch(7, [Filter(ids: [event.id])])
    exchange.fetch(8, [])
    #expect(exchange.fetchesEnded == [8])
    exchange.pass(.seconds(5))
    #expect(exchange.fetchesEnded == [8, 7])
    #expect(exchange.relay.open.isEmpty)
}

@Test func aFetchThatIsRefusedEnds() {
    var exchange = Exchange()
    exchange.relay.refusal = { _ in "blocked: no" }
    exchange.connect()
    exchange.fetch(7, [Filter(ids: [event.id])])
    #expect(exchange.fetchesEnded == [7])
}

@Test func fetchesWaitForAFreeSubscription() {
    var exchange = Exchange()
    exchange.relay.endsStoredEvents = false
    exchange.relay.maxSubscriptions = 3
    exchange.connect { $0.maxSubscriptions = 3 }
    for number in 1...6 { exchange.fetch(UInt64(number), [Filter(ids: [event.id])], within: .minutes(1)) }
    exchange.pass(.seconds(1))
    #expect(exchange.relay.open.count == 3)
    exchange.relay.endsStoredEvents = true
    for id in exchange.relay.open.keys { exchange.hear(.endOfStoredEvents(id)) }
    exchange.pass(.seconds(1))
    #expect(exchange.fetchesEnded.sorted() == [1, 2, 3, 4, 5, 6])
}
