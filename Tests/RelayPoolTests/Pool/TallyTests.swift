import Cipher
import NIOConcurrencyHelpers
import Nostr
import Testing

@testable import RelayPool

struct TallyTests {
    private let one: RelayURL
    private let other: RelayURL
    private let event: Event

    init() throws {
        one = try #require(RelayURL("wss://one.example"))
        other = try #require(RelayURL("wss://other.example"))
        event = try Event.signed(kind: .textNote, createdAt: 0, by: KeyPair(random: SecureRandom.bytes))
    }

    @Test func resultsAreToldOnceWhenAllAreThere() {
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

    @Test func anEventPublishedTwiceIsSentOnceAndToldTwice() {
        let told = NIOLockedValueBox(0)
        var errands = PendingRequests()
        let tallies = (0..<2).map { _ in
            PublishTally(event: event, relays: [one]) { _ in told.withLockedValue { $0 += 1 } }
        }
        #expect(tallies.map { errands.add($0) } == [true, false])
        for tally in errands.takePublications(event.id) { tally.add(.accepted, from: one) }
        #expect(told.withLockedValue { $0 } == 2)
        #expect(errands.takePublications(event.id).count == 0)
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
