import Core
import HTTPClient
import Logging
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// The end of an instance: it is not destroyed while a call is still inside.
@Suite(.timeLimit(.minutes(1)))
struct DrainTests {
    @Test func idleInstanceIsDestroyedImmediately() async throws {
        let bench = try Bench(doing: "inline")
        _ = bench.deliver()
        #expect(await bench.instance.drain(deadline: 0))
        #expect(bench.log.said == ["destroyed"])
        #expect(bench.deliver().all == [Outcome(.retry, reason: "draining")])
        try bench.instance.validate(.somewhere)
    }

    @Test func drainTwiceDestroysOnce() async throws {
        let bench = try Bench(doing: "inline")
        async let first = bench.instance.drain(deadline: 0)
        async let second = bench.instance.drain(deadline: 0)
        #expect(await (first, second) == (true, true))
        #expect(await bench.instance.drain(deadline: 0))
        #expect(bench.log.said == ["destroyed"])
    }

    @Test func outstandingDeliveriesAreCancelledFirst() async throws {
        let bench = try Bench(doing: "ends-when-cancelled")
        let outcomes = [bench.deliver(endsLater: true), bench.deliver(endsLater: true)]
        #expect(await bench.instance.drain(deadline: .distantFuture))
        #expect(outcomes.map(\.reasons) == [["cancelled"], ["cancelled"]])
        #expect(bench.log.said.last == "destroyed")
        #expect(bench.log.said.count == 3)
    }

    @Test func requestsOnTheirWayAreWaitedFor() async throws {
        let http = HeldHTTP()
        let bench = try Bench(doing: "request", http: http)
        let outcomes = bench.deliver(endsLater: true)
        #expect(await eventually { http.count == 1 })
        async let drained = bench.instance.drain(deadline: .distantFuture)
        http.answerAll(.failure(HTTPError(.shutdown, mayHaveBeenProcessed: true)))
        #expect(await drained)
        #expect(outcomes.reasons == ["answered"])
        #expect(bench.log.said.last == "destroyed")
    }

    @Test func stuckInstanceIsAbandoned() async throws {
        let bench = try Bench(doing: "never")
        let outcomes = bench.deliver(endsLater: true)
        let deadline = bench.clock.monotonic() + .seconds(5)
        bench.clock.advance(by: .seconds(5))
        #expect(await bench.instance.drain(deadline: deadline) == false)
        #expect(outcomes.all == [Outcome(.retry, reason: "draining")])
        #expect(!bench.log.said.contains("destroyed"))
        #expect(bench.log.lines.contains { $0.level == .error })
        bench.instance.expireDeadlines()
        #expect(bench.deliver().reasons == ["draining"])
    }

    @Test func responseReachesAnAbandonedInstance() async throws {
        let http = HeldHTTP()
        let bench = try Bench(doing: "request", http: http)
        let outcomes = bench.deliver(endsLater: true)
        #expect(await eventually { http.count == 1 })
        #expect(await bench.instance.drain(deadline: bench.clock.monotonic()) == false)
        #expect(outcomes.reasons == ["draining"])
        http.answerAll(.success(HTTPResponse(status: 200)))
        while bench.instance.statistics.lateCompletions == 0 { await Task.yield() }
        #expect(outcomes.reasons == ["draining"])
    }

    @Test func everyDeliveryEndsOnceWhileDraining() async throws {
        let bench = try Bench(doing: "thread")
        let outcomes = Outcomes()
        await withTaskGroup { group in
            for sender in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        bench.instance.deliver { outcomes.append($0) }
                        if sender == 0, number == 50 { #expect(await bench.instance.drain(deadline: .distantFuture)) }
                    }
                }
            }
        }
        #expect(await bench.instance.drain(deadline: .distantFuture))
        #expect(outcomes.all.count == 400)
        #expect(Set(outcomes.reasons).isSubset(of: ["thread", "draining"]))
        #expect(outcomes.reasons.filter { $0 == "thread" }.count >= 51)
        // Cancellations requested earlier come before its end.
        #expect(bench.log.said.firstIndex(of: "destroyed") == bench.log.said.count - 1)
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test func callAfterShutdownIsRefused() async throws {
        let http = RecordingHTTP()
        let bench = try Bench(doing: "leave-a-ghost", http: http)
        #expect(bench.deliver().reasons == ["inline"])
        #expect(await bench.instance.drain(deadline: 0))
        let next = try bench.host.makeTransport(
            platform: "fixture",
            app: "default",
            configuration: #"{"do":"haunt"}"#,
            settings: InstanceSettings(sender: http, log: bench.log.logger, now: bench.clock.monotonic)
        )
        let outcomes = Outcomes()
        next.deliver { outcomes.append($0) }
        #expect(await eventually { outcomes.reasons == ["shut"] })
        // The process does not forward calls of a closed instance.
        #expect(bench.instance.statistics.unknownTickets == 0)
        #expect(next.statistics.unknownTickets == 0)
        #expect(http.requests.isEmpty)
    }

    @Test func hostShutsDownEverything() async throws {
        let bench = try Bench(doing: "ends-when-cancelled")
        let outcomes = bench.deliver(endsLater: true)
        await bench.host.shutDown(within: .minutes(1))
        #expect(outcomes.reasons == ["cancelled"])
        #expect(bench.log.said.last == "destroyed")
    }

    @Test func oldInstanceRetiresNextToTheNew() async throws {
        let bench = try Bench(doing: "inline")
        let next = try bench.host.makeTransport(
            platform: "fixture",
            app: "default",
            configuration: #"{"do":"inline"}"#,
            settings: InstanceSettings(sender: bench.http, log: bench.log.logger, now: bench.clock.monotonic)
        )
        #expect(await bench.host.retire(bench.instance, within: .seconds(1)))
        #expect(bench.deliver().reasons == ["draining"])
        let outcomes = Outcomes()
        next.deliver { outcomes.append($0) }
        #expect(await eventually { outcomes.reasons == ["inline"] })
    }
}
