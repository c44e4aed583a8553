import CarillonLab
import ChaosKit
import Delivery
import Push
import Testing

/// A judge must detect errors: each proof fails for the flaw that it should find.
struct JudgeTests {
    private static let last = 2 * ChaosTransport.allCases.count - 1
    private static let retry = Outcome(.retry, reason: "closed")
    private static let done = Outcome(.delivered, status: 200, reason: "delivered")

    @Test func aFlawlessRunIsProved() {
        let verdict = Judge.judge(FlawlessRecord.make())
        #expect(verdict.failures.isEmpty, "\(verdict.failures)")
        #expect(verdict.repeats.isEmpty)
    }

    /// Changes to a flawless record, and the proof that fails after each.
    private static let flaws: [(String, Verdict.Proof, @Sendable (inout ChaosRecord) -> Void)] = [
        ("two ends", .endsOnce, { $0.report(0, .delivered, attempt: 1) }),
        ("no end", .endsOnce, { $0.journal.reports.removeLast() }),
        ("a report after the end", .endsOnce, { $0.report(0, .retry, attempt: 2) }),
        ("left in the outbox", .endsOnce, { $0.leftInOutbox = 1 }),
        ("stuck", .endsOnce, { $0.wasStuck = true }),
        ("a miscounted attempt", .endsOnce, { $0.journal.reports[0].attempt = 2 }),
        ("a report of nothing", .endsOnce, { $0.journal.reports[0].delivery = .unknown }),
        ("never accepted", .delivered, { $0.arrivals.removeFirst() }),
        ("refused", .delivered, { $0.arrivals[0].fate = .refused(status: 503) }),
        ("rejected", .nothingLost, { $0.journal.reports[0].kind = .rejected }),
        ("expired", .nothingLost, { $0.journal.reports[0].kind = .expired }),
        ("a living device called gone", .nothingLost, { $0.journal.reports[0].kind = .gone }),
        ("a living device forgotten", .nothingLost, { $0.registered.removeFirst() }),
        ("two at once", .oneAtATime, { $0.journal.attempts.append($0.journal.attempts[last]) }),
        ("a request beyond its attempt", .oneAtATime, { $0.journal.sendings[0].ended = 1_000 }),
        ("another text", .sameMessage, { $0.arrivals[0].texts?.remove($0.population.deliveries[0].notification.body) }),
        ("unreadable", .sameMessage, { $0.arrivals[2].texts = nil }),
        ("another apns-id", .sameMessage, { $0.arrivals[0].messageID = "other" }),
        (
            "another id in the message", .sameMessage,
            { $0.arrivals[2].texts?.remove("\($0.population.deliveries[2].id)") }
        ),
        ("another device", .sameMessage, { $0.arrivals[0].target = "other" }),
        ("an answer of another request", .answersMatch, { $0.journal.sendings[0].end = .answered(status: 201) }),
        ("a request without end", .answersMatch, { $0.journal.sendings[0].ended = nil }),
        ("a request that is not ours", .answersMatch, { $0.arrivals[0].sending = nil }),
        (
            "called unprocessed though it was", .answersMatch,
            { $0.journal.sendings[0].end = .failed(reason: "closed", mayHaveBeenProcessed: false) }
        ),
        ("a request the lab finds wrong", .refusalsAreOrdered, { $0.arrivals[0].fate = .refused(status: 400) }),
        ("resent by itself", .resendsAreSafe, { $0.arrivals.append($0.arrivals[0]) }),
        ("a plugin's mistake", .rulesKept, { $0.pluginMistakes = ["ios: twice"] }),
        ("a stray request", .rulesKept, { $0.journal.strays = 1 }),
        ("a failing outbox", .rulesKept, { $0.journal.outboxFailures = ["full"] }),
        (
            "repeated after success", .repeatsExplained,
            {
                $0.attempt(last, ending: .answered(status: 200), as: done)
                $0.arrive(last, .accepted(status: 200))
            }
        ),
        (
            "repeated after a proof that it was not processed", .repeatsExplained,
            {
                $0.reopenLast()
                $0.attempt(last, ending: .failed(reason: "closed", mayHaveBeenProcessed: false), as: retry)
                $0.arrive(last, .unanswered)
                $0.attempt(last, ending: .answered(status: 200), as: done)
                $0.arrive(last, .accepted(status: 200))
            }
        ),
    ]

    @Test(arguments: flaws.indices)
    func everyFlawIsFound(_ index: Int) {
        let (name, proof, spoil) = Self.flaws[index]
        var record = FlawlessRecord.make()
        spoil(&record)
        #expect(!Judge.judge(record).failures(of: proof).isEmpty, "\(name)")
    }

    @Test func aRepeatAfterSilenceIsExplained() {
        var record = FlawlessRecord.make()
        record.reopenLast()
        record.attempt(Self.last, ending: .failed(reason: "timeout", mayHaveBeenProcessed: true), as: Self.retry)
        record.arrive(Self.last, .unanswered)
        record.arrivals[Self.last].behavior = .silence
        record.report(Self.last, .retry, attempt: 1)
        record.attempt(Self.last, ending: .answered(status: 200), as: Self.done)
        record.arrive(Self.last, .accepted(status: 200))
        record.report(Self.last, .delivered, attempt: 2)
        let verdict = Judge.judge(record)
        #expect(verdict.failures.isEmpty, "\(verdict.failures)")
        #expect(verdict.repeats.map(\.cause) == [.silence])
        #expect(verdict.repeats.map(\.isCertain) == [false])
    }

    @Test func unprocessedAttemptIsNotADuplicate() {
        var record = FlawlessRecord.make()
        record.reopenLast()
        record.attempt(Self.last, ending: .answered(status: 200), as: Self.done)
        record.arrive(Self.last, .unprocessed)
        record.arrive(Self.last, .accepted(status: 200))
        record.report(Self.last, .delivered, attempt: 1)
        let verdict = Judge.judge(record)
        #expect(verdict.failures.isEmpty, "\(verdict.failures)")
        #expect(verdict.repeats.isEmpty)
    }
}
