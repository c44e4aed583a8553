import Nostr
import Testing

@testable import CarillonRouter

@Suite struct StoredEventsTests {
    private func event(_ id: UInt64, kind: UInt16, at time: Int64) -> Event {
        let zero = Bytes32(words: (0, 0, 0, 0))
        return Event(
            id: EventID(Bytes32(words: (id, 0, 0, 0))),
            pubkey: PublicKey(zero),
            createdAt: time,
            kind: Kind(kind),
            tags: [],
            content: "",
            signature: Signature(first: zero, second: zero)
        )
    }

    private func times(_ filters: [Filter]) -> [Int64] {
        let events = [
            event(1, kind: 10062, at: 10), event(2, kind: 10067, at: 30), event(3, kind: 10062, at: 20),
        ]
        return StoredEvents.select(from: events, filters: filters).map(\.createdAt)
    }

    @Test func newestComesFirst() {
        #expect(times([Filter()]) == [30, 20, 10])
    }

    @Test func limitsHoldForEachFilter() {
        #expect(times([Filter(kinds: [.pushRegistration], limit: 1)]) == [20])
        #expect(
            times([Filter(kinds: [.pushRegistration], limit: 1), Filter(kinds: [.notificationRelay])]) == [30, 20]
        )
        #expect(times([Filter(limit: 0)]).isEmpty)
        #expect(times([Filter(limit: 100)]).count == 3)
    }

    @Test func eventThatTwoFiltersMatchComesOnce() {
        #expect(times([Filter(), Filter(kinds: [.pushRegistration])]) == [30, 20, 10])
    }

    @Test func emptyFilterListMatchesNoEvents() {
        #expect(times([]).isEmpty)
        #expect(times([Filter(kinds: [])]).isEmpty)
    }
}
