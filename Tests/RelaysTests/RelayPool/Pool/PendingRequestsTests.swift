import Cipher
import Core
import NIOConcurrencyHelpers
import Nostr
import Testing

@testable import Relays

struct TallyTests {
    private let one: RelayURL
    private let other: RelayURL
    private let event: Event

    init() throws {
        one = try #require(RelayURL("wss://one.example"))
        other = try #require(RelayURL("wss://other.example"))
        event = try Event.signed(kind: .textNote, createdAt: 0, by: KeyPair(random: SecureRandom.bytes))
    }

    @Test func resultsAreReportedOnceWhenComplete() {
        let told = NIOLockedValueBox<[[RelayURL: PublishResult]]>([])
        let tally = PublishTally(event: event, relays: [one, other]) { results in
            told.withLockedValue { $0.append(results) }
        }
        tally.add(.accepted, from: one)
        tally.add(.unanswered, from: one)
        #expect(told.withLockedValue { $0.isEmpty })
        tally.add(.refused(message: "no"), from: other)
        tally.add(.accepted, from: other)
        #expect(told.withLockedValue { $0 } == [[one: .accepted, other: .refused(message: "no")]])
    }

    @Test func aFetchEndsOnceWithTheLastRelay() {
        for isAnswered in [false, true] {
            let ends = NIOLockedValueBox<[Bool]>([])
            let tally = FetchTally(filters: [Filter()], relays: [one, other], time: .milliseconds(1)) { isAnswered in
                ends.withLockedValue { $0.append(isAnswered) }
            }
            if isAnswered { tally.noteAnswer() }
            tally.end(one)
            tally.end(one)
            #expect(ends.withLockedValue { $0 } == [])
            tally.end(other)
            tally.end(other)
            #expect(ends.withLockedValue { $0 } == [isAnswered])
        }
    }

    @Test func eventPublishedTwiceIsSentOnceAndReportedTwice() {
        let told = NIOLockedValueBox(0)
        var errands = PendingRequests()
        let tallies = (0..<2).map { _ in
            PublishTally(event: event, relays: [one]) { _ in told.withLockedValue { $0 += 1 } }
        }
        #expect(tallies.map { errands.add($0) } == [true, false])
        for tally in errands.publications.removeValue(forKey: event.id) ?? [] { tally.add(.accepted, from: one) }
        #expect(told.withLockedValue { $0 } == 2)
        #expect(errands.publications.isEmpty)
    }

    private static let answers: [(Bool, String?, PublishResult)] = [
        (true, "", .accepted), (true, "duplicate: have it", .accepted),
        (false, "duplicate: have it", .accepted),
        (false, "blocked: no", .refused(message: "blocked: no")), (false, "", .refused(message: "")),
        (false, nil, .unanswered),
    ]

    @Test(arguments: answers)
    func anEventThatARelayHasIsAccepted(_ isAccepted: Bool, _ message: String?, _ result: PublishResult) {
        #expect(PublishResult(isAccepted: isAccepted, message: message) == result)
    }
}

@Test func eventsAreBatchedByHowTheyWereRead() {
    var limits = ConnectionLimits()
    limits.batch = 2
    var batches = EventBatches(limits: limits)
    let live = Arrival(reading: .live, sweep: nil, epoch: 0)
    #expect(batches.add([1], live) == nil)
    #expect(batches.add([2], Arrival(reading: .stored, sweep: 1, epoch: 0)) == nil)
    let full = batches.add([3, 3], live)
    #expect(full?.reading == .live)
    #expect(full?.events == [[1], [3, 3]])
    #expect(full?.arrivals == [live, live])
    #expect(full?.bytes == 3)
    #expect(batches.add([4], Arrival(reading: .stored, sweep: 2, epoch: 0))?.arrivals.map(\.sweep) == [1, 2])
    #expect(batches.takeAll() == [])
    #expect(batches.add([5], live) == nil)
    #expect(batches.takeAll().map(\.events) == [[[5]]])
    #expect(batches.takeAll() == [])
}

@Test func readingPausesWhenTooMuchIsInProgress() {
    var limits = ConnectionLimits()
    limits.eventsInWork = 2
    limits.bytesInWork = ByteCount(10)
    limits.batch = 3
    var batches = EventBatches(limits: limits)
    let live = Arrival(reading: .live, sweep: nil, epoch: 0)
    #expect(batches.isSettled)
    _ = batches.add([0, 0], live)
    #expect(!batches.isFull)
    _ = batches.add([0], live)
    #expect(batches.isFull)
    for batch in batches.takeAll() { batches.settle(batch) }
    #expect(batches.isSettled)
    _ = batches.add([UInt8](repeating: 0, count: 10), live)
    #expect(batches.isFull)
}
