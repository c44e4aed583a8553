import Logging
import Nostr
import Rules
import Synchronization
import Testing

@testable import Pipeline

@Suite struct PipelineThreadTests {
    @Test func aFullOutboxDoesNotHoldUpTheEnd() async throws {
        let bench = try Workbench()
        let intake = Intake()
        let thread = PipelineThread(
            isFull: { true },
            pipeline: try Pipeline(
                settings: PipelineSettings(rules: RuleBook.builtIn()),
                registry: bench.registry,
                intake: intake,
                deliveryID: { id, _ in id.hex },
                keep: { _, _ in },
                now: { Workbench.time * 1000 },
                observer: Workbench.Observed(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        let answers = Mutex(0)
        intake.submit(
            Submission(events: [[1]], source: .socket(authenticated: [])) { _ in answers.withLock { $0 += 1 } }
        )
        intake.close()
        await thread.join()
        #expect(answers.withLock(\.self) == 1)
    }
}
