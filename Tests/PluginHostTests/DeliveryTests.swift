import Core
import Logging
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// Correct and incorrect handling of deliveries by plugins.
@Suite(.timeLimit(.minutes(1)))
struct DeliveryTests {
    @Test(arguments: ["inline", "thread"]) func completionMayComeFromAnywhere(behaviour: String) async throws {
        let bench = try Bench(doing: behaviour)
        for _ in 0..<50 {
            #expect(await bench.outcome() == Outcome(.delivered, status: 200, reason: behaviour))
        }
        #expect(bench.instance.statistics == TransportStatistics())
    }

    /// A device may have moved here from a transport that encrypts its own messages.
    @Test func notificationLeftToATransportToSealIsHiddenFromOthers() async throws {
        let bench = try Bench(doing: "inline")
        var notification = Notification(mode: .sealed, signal: .dm, body: "secret")
        #expect(await bench.outcome(of: notification) == Outcome(.rejected, reason: "unsupported"))
        notification.sealed = "{}"
        #expect(await bench.outcome(of: notification).kind == .delivered)
    }

    @Test func secondCompletionIsCountedAndIgnored() throws {
        let bench = try Bench(doing: "twice")
        for number in 1...5 {
            #expect(bench.deliver().reasons == ["first"])
            #expect(bench.instance.statistics.unknownTickets == UInt64(number))
        }
        // The first, second and fourth are logged.
        #expect(bench.log.lines.count { $0.level == .warning } == 3)
    }

    @Test func foreignTicketsAreCountedAndIgnored() throws {
        let bench = try Bench(doing: "unknown")
        #expect(bench.deliver().reasons == ["own"])
        #expect(bench.instance.statistics.unknownTickets == 3)
    }

    @Test func deadlineEndsAnUncompletedDelivery() async throws {
        let bench = try Bench(doing: "never")
        let outcomes = bench.deliver(endsLater: true)
        bench.clock.advance(by: .milliseconds(59_999))
        bench.host.expireDeadlines()
        #expect(outcomes.all.isEmpty)
        bench.clock.advance(by: .milliseconds(1))
        bench.host.expireDeadlines()
        bench.host.expireDeadlines()
        #expect(outcomes.all == [Outcome(.retry, reason: "deadline")])
        #expect(await eventually { bench.log.said.count == 1 })
        #expect(bench.log.said.allSatisfy { $0.hasPrefix("cancel ") })
        #expect(bench.instance.statistics.deadlinesMissed == 1)
    }

    @Test func completionAfterTheDeadlineIsLateButNotAViolation() throws {
        let bench = try Bench(doing: "late")
        let first = bench.deliver(endsLater: true)
        bench.clock.advance(by: .minutes(1))
        bench.instance.expireDeadlines()
        let second = bench.deliver()
        #expect(first.reasons == ["deadline"])
        #expect(second.reasons == ["now"])
        #expect(bench.instance.statistics.lateCompletions == 1)
        #expect(bench.instance.statistics.unknownTickets == 0)
    }

    @Test(arguments: [
        ("unknown-kind", Outcome(.retry, reason: "misbehaved")),
        ("no-outcome", Outcome(.retry, reason: "misbehaved")),
        ("no-size", Outcome(.retry, reason: "misbehaved")),
    ])
    func malformedOutcomeIsARetry(behaviour: String, expected: Outcome) throws {
        let bench = try Bench(doing: behaviour)
        #expect(bench.deliver().all == [expected])
        #expect(bench.instance.statistics.malformedOutcomes == 1)
    }

    @Test(arguments: [
        ("scope", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry", scope: .transport)),
        ("odd-scope", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry")),
        ("negative-scope", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry")),
        // Its struct is that of ABI 1.1.
        ("older-scope", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry")),
        ("needless-scope", Outcome(.delivered, reason: "delivered")),
        ("odd-numbers", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry")),
        // Its struct ends before retry_after_ms and reason, so the memory after it must not be read.
        ("short-outcome", Outcome(.retry, reason: "retry")),
        ("hostile-reason", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "other")),
        ("talkative-reason", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "other")),
        ("null-reason", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "other")),
        ("endless-reason", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "other")),
        ("bottomless-reason", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "other")),
        // Not where a compiler would put it.
        ("crooked-outcome", Outcome(.retry, retryAfter: .milliseconds(1500), reason: "retry")),
    ])
    func unusualOutcomeIsSanitized(behaviour: String, expected: Outcome) throws {
        let bench = try Bench(doing: behaviour)
        #expect(bench.deliver().all == [expected])
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test(arguments: [
        ("busy", Outcome(.retry, reason: "busy")),
        ("failed", Outcome(.retry, reason: "failed")),
        ("unheard-of", Outcome(.retry, reason: "failed")),
        ("invalid", Outcome(.rejected, reason: "invalid")),
        ("unsupported", Outcome(.rejected, reason: "unsupported")),
    ])
    func refusalIsAnOutcome(behaviour: String, expected: Outcome) throws {
        let bench = try Bench(doing: behaviour)
        #expect(bench.deliver().all == [expected])
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test func refusedAndEndedCountsOnce() throws {
        let bench = try Bench(doing: "refuse-and-end")
        #expect(bench.deliver().reasons == ["ended"])
        #expect(bench.instance.statistics.unknownTickets == 1)
    }

    @Test func olderPluginLoadsAndItsGarbageIsNotRead() async throws {
        let bench = try Bench("descriptor.c", "-DOLDER")
        #expect(bench.host.catalog.plugins.first?.filters.isEmpty == true)
        #expect(await bench.outcome().reason == "fixture")
        // Its `cancel` would be a jump to nowhere.
        #expect(await bench.instance.drain(deadline: .distantFuture))
    }

    @Test func newerPluginLoads() async throws {
        let bench = try Bench("descriptor.c", "-DNEWER")
        #expect(await bench.outcome().reason == "fixture")
    }

    @Test func unknownServiceIsNull() throws {
        #expect(try Bench(doing: "query").deliver().reasons == ["none"])
    }
}
