import Cipher
import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Pipeline

@Suite struct WaitingEventsTests {
    private let alice = PublicKey(Bytes32(words: (1, 0, 0, 0)))
    private let bob = PublicKey(Bytes32(words: (2, 0, 0, 0)))
    private let note = EventID(Bytes32(words: (3, 0, 0, 0)))

    private func waiting(events: Int = 10, bytes: Int = 1000) -> WaitingEvents {
        WaitingEvents(limits: WaitingEvents.Limits(wait: .milliseconds(1_500), events: events, bytes: ByteCount(bytes)))
    }

    private func event(_ number: UInt64) -> WaitingEvent {
        let zero = Bytes32(words: (0, 0, 0, 0))
        let event = Event(
            id: EventID(Bytes32(words: (9, 9, 9, number))),
            pubkey: alice,
            createdAt: 0,
            kind: .textNote,
            tags: [],
            content: "",
            signature: Signature(first: zero, second: zero)
        )
        return WaitingEvent(event: event, source: .feed, places: [AnswerPlace(submission: Int(number), position: 0)])
    }

    private func ids(_ events: [WaitingEvent]) -> [UInt64] { events.map(\.event.id.bytes.words.3) }

    @Test func foundContextReleasesEventsThatNeedOnlyThat() {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice], events: [note]), at: 0)
        waiting.add(event(2), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        waiting.found(.profile(alice))
        #expect(ids(waiting.takeReady(at: 1)) == [2])
        waiting.found(.event(note))
        #expect(ids(waiting.takeReady(at: 1)) == [1])
        #expect(waiting.takeReady(at: 10_000).isEmpty)
    }

    @Test func authorIsFetchedOnceItsEventIsFound() {
        var waiting = waiting()
        let wants = ContextWants(events: [note], authorsOf: [note])
        waiting.add(event(1), size: 1, for: wants, at: 0)
        waiting.add(event(2), size: 1, for: ContextWants(events: [note]), at: 0)
        #expect(waiting.nextFetch()?.wants == ContextWants(events: [note]))
        #expect(waiting.seeksAuthor(of: note) && !waiting.seeksAuthor(of: event(1).event.id))
        waiting.found(.event(note), by: bob)
        #expect(ids(waiting.takeReady(at: 1)) == [2])
        #expect(waiting.nextFetch()?.wants == ContextWants(profiles: [bob]))
        waiting.found(.profile(bob))
        #expect(ids(waiting.takeReady(at: 2)) == [1])
        // An event whose author is already known no longer waits.
        waiting.add(event(3), size: 1, for: wants, at: 3)
        waiting.found(.event(note))
        #expect(ids(waiting.takeReady(at: 4)) == [3])
    }

    @Test func eventWaitsForAnAddress() {
        var waiting = waiting()
        let address = EventAddress(kind: Kind(30023), pubkey: alice, identifier: "a")
        for number in [1, 2] as [UInt64] {
            waiting.add(event(number), size: 1, for: ContextWants(addresses: [address]), at: 0)
        }
        let fetch = waiting.nextFetch()
        #expect(fetch?.wants == ContextWants(addresses: [address]) && waiting.nextFetch() == nil)
        #expect(waiting.ended(fetch?.number ?? 0).addresses == [address])
        #expect(ids(waiting.takeReady(at: 1)) == [1, 2])
    }

    @Test func waitingEventsContinueInOrder() {
        var waiting = waiting()
        let authors = (1...8).map { PublicKey(Bytes32(words: ($0, 1, 1, 1))) }
        for (number, author) in authors.enumerated() {
            waiting.add(event(UInt64(number)), size: 1, for: ContextWants(profiles: [author]), at: 0)
        }
        for author in authors.reversed() { waiting.found(.profile(author)) }
        #expect(ids(waiting.takeReady(at: 1)) == Array(0..<8))
    }

    @Test func eventsWaitAtMostTheLimit() {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        waiting.add(event(2), size: 1, for: ContextWants(profiles: [bob]), at: 100)
        #expect(waiting.deadline == 1500)
        #expect(waiting.takeReady(at: 1499).isEmpty)
        #expect(ids(waiting.takeReady(at: 1500)) == [1])
        #expect(waiting.deadline == 1600)
        #expect(ids(waiting.takeReady(at: 9999)) == [2])
        #expect(waiting.deadline == nil)
    }

    @Test func clockThatIsSetBackReleasesWaitingEvents() {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 1_000_000)
        #expect(waiting.timeout(at: 1_001_000) == .milliseconds(500))
        #expect(waiting.timeout(at: 2_000_000) == .zero)
        #expect(waiting.timeout(at: 10) == .milliseconds(1_500))
        #expect(ids(waiting.takeReady(at: 10)) == [1])
    }

    @Test func identicalContextIsFetchedOnceAtATime() {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        waiting.add(event(2), size: 1, for: ContextWants(profiles: [alice], events: [note]), at: 0)
        let first = waiting.nextFetch()
        #expect(first?.wants == ContextWants(profiles: [alice], events: [note]))
        #expect(waiting.nextFetch() == nil)
        waiting.add(event(3), size: 1, for: ContextWants(profiles: [alice, bob]), at: 1)
        let second = waiting.nextFetch()
        #expect(second?.wants == ContextWants(profiles: [bob]))
    }

    @Test func eventStopsWaitingForUnavailableContext() throws {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let asked = waiting.nextFetch()
        let fetch = try #require(asked)
        #expect(waiting.ended(fetch.number) == ContextWants(profiles: [alice]))
        #expect(ids(waiting.takeReady(at: 1)) == [1])
        #expect(waiting.ended(fetch.number).isEmpty)
    }

    @Test func contextWantedAfterAFetchEndedIsFetchedAgain() throws {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let asked = waiting.nextFetch()
        _ = waiting.ended(try #require(asked).number)
        waiting.add(event(2), size: 1, for: ContextWants(profiles: [alice]), at: 1)
        let second = waiting.nextFetch()
        #expect(second?.wants == ContextWants(profiles: [alice]))
    }

    @Test func waitingEventsAreLimitedByCountAndBytes() {
        var waiting = waiting(events: 2, bytes: 100)
        #expect(!waiting.hasCapacity(for: 101))
        waiting.add(event(1), size: 60, for: ContextWants(profiles: [alice]), at: 0)
        #expect(!waiting.hasCapacity(for: 41) && waiting.hasCapacity(for: 40))
        waiting.add(event(2), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        #expect(!waiting.hasCapacity(for: 1))
        _ = waiting.takeReady(at: 5000)
        #expect(waiting.hasCapacity(for: 100))
    }

    @Test func zeroWaitHoldsNoEvents() {
        #expect(!WaitingEvents(limits: WaitingEvents.Limits(wait: .zero, events: 10)).hasCapacity(for: 1))
    }

    @Test func copiesShareTheResult() {
        var waiting = waiting()
        let place = AnswerPlace(submission: 7, position: 3)
        let early = waiting.join(event(1).event.id, at: place)
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let inTime = waiting.join(event(1).event.id, at: place)
        #expect([early, inTime] == [false, true])
        let ready = waiting.takeReady(at: 1500)
        #expect(ready.first?.places == [AnswerPlace(submission: 1, position: 0), place])
    }

    @Test func eventThatWaitsAgainGetsItsWholeTime() {
        var waiting = waiting()
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        waiting.found(.profile(alice))
        #expect(ids(waiting.takeReady(at: 10)) == [1])
        waiting.add(event(1), size: 1, for: ContextWants(profiles: [bob]), at: 1000)
        #expect(waiting.takeReady(at: 1600).isEmpty)
        #expect(ids(waiting.takeReady(at: 2500)) == [1])
    }

    @Test func allWaitingEventsContinueInOrderAtTheEnd() {
        var waiting = waiting()
        for number in 1...3 {
            waiting.add(
                event(UInt64(number)),
                size: 1,
                for: ContextWants(profiles: [alice]),
                at: Timestamp(milliseconds: Int64(number))
            )
        }
        #expect(ids(waiting.takeAll()) == [1, 2, 3])
        #expect(waiting.takeAll().isEmpty)
    }
}
