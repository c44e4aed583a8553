import Cipher
import Core
import Delivery
import DeliveryTestSupport
import Dispatch
import Nostr
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline

@Suite struct IntakeTests {
    private func submission(
        _ count: Int,
        _ answered: @escaping @Sendable ([EventDecision]) -> Void = { _ in }
    ) -> Submission {
        Submission(
            events: Array(repeating: [1], count: count),
            source: .socket(authenticated: []),
            completion: answered
        )
    }

    @Test func waitingSubmissionsAreReturnedTogetherInOrder() {
        let intake = Intake()
        intake.submit(submission(1))
        intake.submit(submission(2))
        #expect(intake.next()?.submissions.map(\.events.count) == [1, 2])
    }

    @Test func onePortionIsReturnedAtATime() {
        let intake = Intake(portion: 3)
        for count in [2, 2, 9, 1] { intake.submit(submission(count)) }
        #expect(intake.next()?.submissions.map(\.events.count) == [2, 2])
        #expect(intake.backlog == IntakeBacklog(events: 10, bytes: 10, limit: 100_000))
        #expect(intake.next()?.submissions.map(\.events.count) == [9])
        intake.close()
        #expect(intake.next()?.submissions.map(\.events.count) == [1])
        #expect(intake.backlog.events == 0)
        #expect(intake.next()?.isEmpty == nil)
    }

    @Test func onlyACompletePortionIsAvailableBeforeItsTurn() {
        let intake = Intake(portion: 3)
        intake.submit(submission(2))
        #expect(intake.nextPortion()?.submissions.count == nil)
        intake.submit(submission(2))
        intake.submit(submission(2))
        #expect(intake.nextPortion()?.submissions.count == 2)
        #expect(intake.nextPortion()?.submissions.count == nil)
        intake.submit(submission(2))
        intake.abandon()
        #expect(intake.nextPortion()?.submissions.count == nil)
    }

    @Test func anAbandonedIntakeRefusesAllPortions() {
        let intake = Intake(portion: 1)
        let refusals = Mutex(0)
        for _ in 0..<3 { intake.submit(submission(1) { decisions in refusals.withLock { $0 += decisions.count } }) }
        #expect(intake.next()?.submissions.count == 1)
        intake.abandon()
        #expect(intake.next()?.isEmpty == nil)
        #expect(refusals.withLock(\.self) == 2)
    }

    private func request(_ count: Int = 1) -> Submission {
        Submission(
            events: Array(repeating: [1], count: count),
            source: .api(NotificationOrder(.template("a"))),
            completion: { _ in }
        )
    }

    private func counts(_ arrivals: Arrivals?) -> [Int]? { arrivals?.submissions.map(\.events.count) }

    @Test func eventsGoBeforeRequests() {
        let intake = Intake()
        intake.submit([request(3), submission(1), submission(2)])
        #expect(intake.backlog.events == 6 && intake.eventsAhead == 3)
        #expect(counts(intake.next()) == [1, 2])
        // The owner works on them.
        #expect(intake.eventsAhead == 3)
        #expect(intake.backlog.events == 3 && intake.backlog.bytes == 3)
        #expect(counts(intake.next()) == [1, 1, 1])
        #expect(intake.backlog.events == 0 && intake.backlog.bytes == 0 && intake.eventsAhead == 0)
    }

    @Test func requestsAreTakenInParts() {
        let intake = Intake()
        intake.submit((0..<60).map { _ in request() } + [request(70), request()])
        // A request for many accounts consists of many events, and also comes in parts.
        #expect(counts(intake.next())?.count == 64)
        #expect(intake.backlog.events == 67 && intake.backlog.bytes == 67)
        intake.submit(submission(2))
        #expect(counts(intake.next()) == [2])
        #expect(counts(intake.next())?.count == 64)
        #expect(counts(intake.next())?.count == 3)
        #expect(intake.backlog.events == 0 && intake.backlog.bytes == 0)
    }

    @Test func eventsForManyPeopleAreTakenFewAtATime() {
        let intake = Intake()
        let sizes = [7 << 10, 7 << 10, 7 << 10, 7 << 10, 30 << 10, 1 << 10]
        for size in sizes {
            let event = [UInt8](repeating: 1, count: size)
            intake.submit(Submission(events: [event], source: .api(NotificationOrder(.template("a")))) { _ in })
        }
        // An item larger than a part is sent separately.
        for count in [3, 1, 1, 1] { #expect(counts(intake.next())?.count == count) }
    }

    @Test func batchSubmissionGetsAllVerdictsTogetherAndInOrder() throws {
        let intake = Intake()
        let answers = Mutex<[[EventDecision]]>([])
        let events = (1...3).map { [UInt8](repeating: $0, count: 20 << 10) }
        intake.submit(
            Submission(events: events, source: .api(NotificationOrder(.template("a")))) { decisions in
                answers.withLock { $0.append(decisions) }
            }
        )
        var taken: [Submission] = []
        for _ in events { taken += try #require(intake.next()).submissions }
        #expect(taken.map(\.events) == events.map { [$0] })
        for (number, submission) in taken.enumerated().reversed() {
            #expect(answers.withLock { $0.isEmpty })
            submission.completion([EventDecision(id: nil, .refused("\(number)"))])
        }
        let expected = (0..<3).map { EventDecision(id: nil, .refused("\($0)")) }
        #expect(answers.withLock(\.self) == [expected])
    }

    @Test func eventsDoNotStarveRequests() {
        let clock = Mutex(Deadline(milliseconds: 0))
        let intake = Intake(now: { clock.withLock(\.self) })
        intake.submit((0..<65).map { _ in request() })
        for _ in 0..<5 {
            intake.submit(submission(2))
            #expect(counts(intake.next()) == [2])
        }
        clock.withLock { $0 = Deadline(milliseconds: 200) }
        intake.submit(submission(2))
        #expect(counts(intake.next()) == [2] + Array(repeating: 1, count: 64))
        // The next part waits for as long again.
        intake.submit(submission(2))
        #expect(counts(intake.next()) == [2])
    }

    @Test func submissionsWaitingAtTheEndAreProcessedImmediately() {
        let intake = Intake()
        intake.submit([submission(1)] + (0..<70).map { _ in request() })
        intake.close()
        #expect(counts(intake.next())?.count == 71)
        #expect(intake.next() == nil)
    }

    @Test func abandonedRequestsAreRefused() {
        let intake = Intake()
        let refusals = Mutex(0)
        intake.submit(
            Submission(events: [[1]], source: .api(NotificationOrder(.template("a")))) { decisions in
                refusals.withLock { $0 += decisions.count }
            }
        )
        intake.abandon()
        #expect(intake.next() == nil && refusals.withLock(\.self) == 1)
    }

    @Test func deliveryEndsAreReturnedToo() {
        let intake = Intake()
        let end = CompletedPush(device: DeviceID(rawValue: 1), delivery: "d", counts: true, moment: 1)
        intake.ended([])
        intake.ended([end])
        intake.ended([end])
        #expect(intake.next()?.ends == [end, end])
        intake.close()
        intake.ended([end])
        #expect(intake.next()?.ends == nil)
    }

    @Test func unawaitedDeliveryEndsComeWithTheNextPortion() {
        let intake = Intake()
        let end = CompletedPush(device: DeviceID(rawValue: 1), delivery: "d", counts: true, moment: 1)
        #expect(intake.ended([end]))
        intake.awaitEnds(false)
        #expect(!intake.ended([end]))
        intake.submit(submission(1))
        let arrivals = intake.next()
        #expect(arrivals?.ends.count == 2 && arrivals?.submissions.count == 1)
        #expect(!intake.ended(Array(repeating: end, count: 999)))
        #expect(intake.ended([end]))
        #expect(intake.next()?.ends.count == 1000)
        intake.awaitEnds(true)
        #expect(intake.ended([end]))
    }

    @Test func closedIntakeEmptiesAndEnds() {
        let intake = Intake()
        intake.submit(submission(1))
        intake.close()
        #expect(intake.next()?.submissions.count == 1)
        #expect(intake.next()?.submissions.count == nil)
    }

    @Test func senderIsThrottledBeyondTheByteLimit() {
        let intake = Intake(byteLimit: ByteCount(1_000))
        let refusals = Mutex(0)
        intake.submit(
            Submission(events: [[UInt8](repeating: 1, count: 1000)], source: .socket(authenticated: [])) { _ in }
        )
        intake.submit(submission(1) { decisions in refusals.withLock { $0 += decisions.count } })
        #expect(refusals.withLock(\.self) == 1)
        #expect(intake.next()?.submissions.count == 1)
        intake.submit(submission(1) { decisions in refusals.withLock { $0 += decisions.count } })
        #expect(refusals.withLock(\.self) == 1)
        #expect(intake.next()?.submissions.count == 1)
    }

    @Test func senderIsThrottledBeyondTheCountLimit() {
        let intake = Intake(limit: 2)
        let answers = Mutex<[EventDecision]>([])
        intake.submit(submission(2))
        intake.submit(submission(3) { decisions in answers.withLock { $0 = decisions } })
        #expect(
            answers.withLock(\.self).map(\.result)
                == Array(repeating: .refused("error: too busy, try again later"), count: 3)
        )
        #expect(intake.next()?.submissions.count == 1)
    }

    @Test func refusedSubmissionNamesItsEvent() throws {
        let intake = Intake()
        intake.close()
        let event = try Event.signed(
            kind: .textNote,
            createdAt: 1,
            tags: [],
            content: "x",
            by: KeyPair(random: SecureRandom.bytes)
        )
        let answers = Mutex<[EventDecision]>([])
        intake.submit(
            Submission(events: [event.json, [1]], source: .socket(authenticated: [])) { decisions in
                answers.withLock { $0 = decisions }
            }
        )
        #expect(answers.withLock(\.self).map(\.id) == [event.id, nil])
        #expect(
            answers.withLock(\.self).map(\.result).allSatisfy {
                $0 == .refused("error: shutting down, try again later")
            }
        )
    }

    @Test func endedFetchFollowsItsEvents() {
        let intake = Intake()
        intake.submit(submission(3))
        intake.fetchEnded(7)
        let arrivals = intake.next()
        #expect(arrivals?.submissions.map(\.events.count) == [3])
        #expect(arrivals?.endedFetches == [7])
    }

    @Test func anEndedFetchWaitsForThePortionWithWhatItFound() {
        let intake = Intake(portion: 1)
        intake.fetchEnded(6)
        intake.submit(submission(1))
        intake.submit(submission(1))
        intake.fetchEnded(7, isAnswered: false)
        intake.submit(submission(1))
        let portions = (0..<3).map { _ in intake.next() }
        #expect(portions.map { $0?.submissions.count } == [1, 1, 1])
        #expect(portions.map { $0?.endedFetches } == [[6], [7], []])
        #expect(portions[1]?.unansweredFetches == [7])
    }

    @Test func waitTimesOutEmpty() {
        let intake = Intake()
        #expect(intake.next(within: .milliseconds(1))?.isEmpty == true)
        intake.close()
        #expect(intake.next(within: .milliseconds(1))?.isEmpty == nil)
    }

    @Test func fetchOrCloseDuringAWaitEndsIt() {
        let intake = Intake()
        DispatchQueue.global().async { [intake] in intake.fetchEnded(1) }
        #expect(intake.next(within: .minutes(1))?.endedFetches == [1])
        DispatchQueue.global().async { [intake] in intake.close() }
        #expect(intake.next(within: .minutes(1))?.isEmpty == nil)
    }
}
