import Cipher
import Core
import DeliveryTestSupport
import Logging
import Nostr
import PlatformTestSupport
import Registry
import Rules
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline

@Suite struct PipelineThreadTests {
    private let bench: Workbench
    private let intake = Intake()

    init() throws {
        bench = try Workbench()
    }

    private static func pipeline(
        _ registry: Registry,
        _ intake: Intake,
        contextWait: Duration,
        fetcher: (any ContextFetcher)? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) throws -> sending Pipeline {
        var dependencies = PipelineDependencies(contextFetcher: fetcher)
        dependencies.now = now
        return try Pipeline(
            settings: PipelineSettings(rules: RuleBook.builtIn(), contextWait: contextWait),
            registry: registry,
            intake: intake,
            storage: PipelineStorage { _, _, _ in },
            dependencies: dependencies
        )
    }

    private func noteThatWaits() throws -> Event {
        let owner = try bench.account()
        return try bench.event(.textNote, tags: [["p", owner.publicKey.hex]], by: try Workbench.keys())
    }

    @Test func fullOutboxDoesNotDelayTheShutdown() async throws {
        let thread = PipelineThread(
            isFull: { true },
            pipeline: try Self.pipeline(bench.registry, intake, contextWait: .zero, now: bench.clock.now)
        )
        let answer = Answer()
        intake.submit(Submission(events: [[1]], source: .feed, completion: answer.take))
        intake.close()
        await thread.join()
        #expect(answer.count == 1)
    }

    @Test func portionsComeThroughInTheirOrder() async throws {
        let intake = Intake(portion: 3)
        let notes = try (0..<10).map { _ in try noteThatWaits() }
        let answer = Answer()
        // The copy is checked before the first copy's turn is over.
        for note in notes + notes.suffix(4) {
            intake.submit(Submission(events: [note.json], source: .feed, completion: answer.take))
        }
        intake.close()
        let thread = PipelineThread(
            isFull: { false },
            pipeline: try Self.pipeline(bench.registry, intake, contextWait: .zero, now: bench.clock.now)
        )
        await thread.join()
        #expect(answer.count == 14)
        #expect(answer.allResults.prefix(10).allSatisfy { $0 == .accepted })
        #expect(answer.allResults.suffix(4).allSatisfy { $0 == .duplicate })
    }

    @Test func waitingEventContinuesWhenTheIntakeCloses() async throws {
        let note = try noteThatWaits()
        let fetcher = FakeFetcher()
        let thread = PipelineThread(
            isFull: { false },
            pipeline: try Self.pipeline(
                bench.registry,
                intake,
                contextWait: .days(1),
                fetcher: fetcher,
                now: bench.clock.now
            )
        )
        let answer = Answer()
        intake.submit(Submission(events: [note.json], source: .feed, completion: answer.take))
        intake.close()
        await thread.join()
        #expect(answer.results == [.accepted])
        #expect(fetcher.count == 1)
    }

    @Test func threadWakesWhenAWaitTimesOut() async throws {
        let note = try noteThatWaits()
        // Each reading of the clock takes a second.
        let clock = ManualClock(Workbench.start)
        let pipeline = try Self.pipeline(
            bench.registry,
            intake,
            contextWait: .milliseconds(1_001),
            fetcher: FakeFetcher()
        ) {
            clock.advance(by: .seconds(1))
            return clock.now()
        }
        let thread = PipelineThread(isFull: { false }, pipeline: pipeline)
        await withCheckedContinuation { continuation in
            intake.submit(Submission(events: [note.json], source: .feed) { _ in continuation.resume() })
        }
        intake.close()
        await thread.join()
    }

    @Test func settingsAreTakenWhileTheOutboxIsFull() async throws {
        let thread = PipelineThread(
            isFull: { true },
            pipeline: try Self.pipeline(bench.registry, intake, contextWait: .zero, now: bench.clock.now)
        )
        // Has the thread wait for room.
        intake.submit(Submission(events: [[1]], source: .feed) { _ in })
        let settings = PipelineSettings(rules: try RuleBook.builtIn())
        try await withCheckedThrowingContinuation { continuation in
            intake.adopt(settings) { continuation.resume(with: $0) }
        }
        #expect(await thread.isResponsive(within: .minutes(1)))
        intake.close()
        await thread.join()
    }

    @Test func onlyARunningThreadIsResponsive() async throws {
        let thread = PipelineThread(
            isFull: { false },
            pipeline: try Self.pipeline(bench.registry, intake, contextWait: .zero, now: bench.clock.now)
        )
        #expect(await thread.isResponsive(within: .minutes(1)))
        intake.close()
        await thread.join()
        #expect(await !thread.isResponsive(within: .zero))
        let refused = Mutex(false)
        intake.adopt(PipelineSettings(rules: try RuleBook.builtIn())) { result in
            if case .failure = result { refused.withLock { $0 = true } }
        }
        #expect(refused.withLock { $0 })
    }

    @Test func abandonedIntakeRefusesWaitingSubmissions() throws {
        let answer = Answer()
        intake.submit(Submission(events: [[1]], source: .feed, completion: answer.take))
        #expect(intake.backlog == IntakeBacklog(events: 1, bytes: 1, limit: 100_000))
        intake.abandon()
        #expect(intake.next() == nil)
        #expect(answer.results == [.refused("error: shutting down, try again later")])
        #expect(intake.backlog.events == 0)
    }
}
