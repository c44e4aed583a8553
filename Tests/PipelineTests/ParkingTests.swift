import Cipher
import Nostr
import Testing

@testable import Pipeline

@Suite struct ParkingTests {
    private let alice = PublicKey(Bytes32(words: (1, 0, 0, 0)))
    private let bob = PublicKey(Bytes32(words: (2, 0, 0, 0)))
    private let note = EventID(Bytes32(words: (3, 0, 0, 0)))

    private func parking(events: Int = 10, bytes: Int = 1000) -> Parking {
        Parking(limits: ParkingLimits(wait: 1500, events: events, bytes: bytes))
    }

    private func parked(_ number: UInt64) -> Parked {
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
        return Parked(event: event, source: .feed, places: [AnswerPlace(submission: Int(number), position: 0)])
    }

    private func ids(_ parked: [Parked]) -> [UInt64] { parked.map(\.event.id.bytes.words.3) }

    @Test func whatWasFoundLetsGoWhoeverLacksNothingElse() {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice], events: [note]), at: 0)
        parking.park(parked(2), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        parking.found(profileOf: alice)
        #expect(ids(parking.takeReady(at: 1)) == [2])
        parking.found(event: note)
        #expect(ids(parking.takeReady(at: 1)) == [1])
        #expect(parking.takeReady(at: 10_000).isEmpty)
    }

    @Test func whoWroteAnEventIsSoughtOnceItIsThere() {
        var parking = parking()
        let wants = ContextWants(events: [note], authorsOf: [note])
        parking.park(parked(1), size: 1, for: wants, at: 0)
        parking.park(parked(2), size: 1, for: ContextWants(events: [note]), at: 0)
        #expect(parking.nextFetch()?.wants == ContextWants(events: [note]))
        #expect(parking.seeksAuthor(of: note) && !parking.seeksAuthor(of: parked(1).event.id))
        parking.found(event: note, by: bob)
        #expect(ids(parking.takeReady(at: 1)) == [2])
        #expect(parking.nextFetch()?.wants == ContextWants(profiles: [bob]))
        parking.found(profileOf: bob)
        #expect(ids(parking.takeReady(at: 2)) == [1])
        // One whose author is known already is waited for no longer.
        parking.park(parked(3), size: 1, for: wants, at: 3)
        parking.found(event: note)
        #expect(ids(parking.takeReady(at: 4)) == [3])
    }

    @Test func whatStandsAtAnAddressIsWaitedFor() {
        var parking = parking()
        let address = EventAddress(kind: Kind(30023), pubkey: alice, identifier: "a")
        for number in [1, 2] as [UInt64] {
            parking.park(parked(number), size: 1, for: ContextWants(addresses: [address]), at: 0)
        }
        let fetch = parking.nextFetch()
        #expect(fetch?.wants == ContextWants(addresses: [address]) && parking.nextFetch() == nil)
        #expect(parking.ended(fetch?.number ?? 0).addresses == [address])
        #expect(ids(parking.takeReady(at: 1)) == [1, 2])
    }

    @Test func theyGoInTheOrderInWhichTheyCame() {
        var parking = parking()
        let authors = (1...8).map { PublicKey(Bytes32(words: ($0, 1, 1, 1))) }
        for (number, author) in authors.enumerated() {
            parking.park(parked(UInt64(number)), size: 1, for: ContextWants(profiles: [author]), at: 0)
        }
        for author in authors.reversed() { parking.found(profileOf: author) }
        #expect(ids(parking.takeReady(at: 1)) == Array(0..<8))
    }

    @Test func nobodyWaitsLongerThanTheLimit() {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        parking.park(parked(2), size: 1, for: ContextWants(profiles: [bob]), at: 100)
        #expect(parking.deadline == 1500)
        #expect(parking.takeReady(at: 1499).isEmpty)
        #expect(ids(parking.takeReady(at: 1500)) == [1])
        #expect(parking.deadline == 1600)
        #expect(ids(parking.takeReady(at: 9999)) == [2])
        #expect(parking.deadline == nil)
    }

    @Test func aClockThatWasPutBackLetsThemGo() {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 1_000_000)
        #expect(parking.patience(at: 1_001_000) == 500)
        #expect(parking.patience(at: 2_000_000) == 0)
        #expect(parking.patience(at: 10) == 1500)
        #expect(ids(parking.takeReady(at: 10)) == [1])
    }

    @Test func theSameIsAskedForOnceAtATime() {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        parking.park(parked(2), size: 1, for: ContextWants(profiles: [alice], events: [note]), at: 0)
        let first = parking.nextFetch()
        #expect(first?.wants == ContextWants(profiles: [alice], events: [note]))
        #expect(parking.nextFetch() == nil)
        parking.park(parked(3), size: 1, for: ContextWants(profiles: [alice, bob]), at: 1)
        let second = parking.nextFetch()
        #expect(second?.wants == ContextWants(profiles: [bob]))
    }

    @Test func whatNobodyHasIsWaitedForNoLonger() throws {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let asked = parking.nextFetch()
        let fetch = try #require(asked)
        #expect(parking.ended(fetch.number) == ContextWants(profiles: [alice]))
        #expect(ids(parking.takeReady(at: 1)) == [1])
        #expect(parking.ended(fetch.number).isEmpty)
    }

    @Test func whatIsWantedAgainAfterAFetchEndedIsAskedForAgain() throws {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let asked = parking.nextFetch()
        _ = parking.ended(try #require(asked).number)
        parking.park(parked(2), size: 1, for: ContextWants(profiles: [alice]), at: 1)
        let second = parking.nextFetch()
        #expect(second?.wants == ContextWants(profiles: [alice]))
    }

    @Test func roomIsBoundedInEventsAndBytes() {
        var parking = parking(events: 2, bytes: 100)
        #expect(!parking.hasRoom(for: 101))
        parking.park(parked(1), size: 60, for: ContextWants(profiles: [alice]), at: 0)
        #expect(!parking.hasRoom(for: 41) && parking.hasRoom(for: 40))
        parking.park(parked(2), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        #expect(!parking.hasRoom(for: 1))
        _ = parking.takeReady(at: 5000)
        #expect(parking.hasRoom(for: 100))
    }

    @Test func withoutAWaitNothingIsParked() {
        #expect(!Parking(limits: ParkingLimits(wait: 0, events: 10)).hasRoom(for: 1))
    }

    @Test func furtherCopiesShareTheEnd() {
        var parking = parking()
        let place = AnswerPlace(submission: 7, position: 3)
        let early = parking.join(parked(1).event.id, at: place)
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        let inTime = parking.join(parked(1).event.id, at: place)
        #expect([early, inTime] == [false, true])
        let ready = parking.takeReady(at: 1500)
        #expect(ready.first?.places == [AnswerPlace(submission: 1, position: 0), place])
    }

    @Test func anEventThatWaitsAnewHasItsWholeTime() {
        var parking = parking()
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [alice]), at: 0)
        parking.found(profileOf: alice)
        #expect(ids(parking.takeReady(at: 10)) == [1])
        parking.park(parked(1), size: 1, for: ContextWants(profiles: [bob]), at: 1000)
        #expect(parking.takeReady(at: 1600).isEmpty)
        #expect(ids(parking.takeReady(at: 2500)) == [1])
    }

    @Test func atTheEndAllGoInTheirOrder() {
        var parking = parking()
        for number in 1...3 {
            parking.park(parked(UInt64(number)), size: 1, for: ContextWants(profiles: [alice]), at: Int64(number))
        }
        #expect(ids(parking.takeAll()) == [1, 2, 3])
        #expect(parking.takeAll().isEmpty)
    }
}
