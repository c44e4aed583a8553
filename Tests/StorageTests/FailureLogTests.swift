import Core
import Logging
import Storage
import Synchronization
import Testing
import TimeTestSupport

struct FailureLogTests {
    private struct Full: Error {}

    /// Keeps what is logged.
    private struct Lines: LogHandler {
        final class Kept: Sendable {
            let lines = Mutex<[String]>([])
        }

        let kept: Kept
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let unsaid = event.metadata?["unsaid"].map { " +\($0)" } ?? ""
            kept.lines.withLock { $0.append("\(event.level) \(event.message)\(unsaid)") }
        }
    }

    private let kept = Lines.Kept()
    private let trouble: ErrorLog

    init() {
        let kept = kept
        trouble = ErrorLog("Nothing works", logger: Logger(label: "test") { _ in Lines(kept: kept) })
    }

    private var lines: [String] { kept.lines.withLock(\.self) }

    @Test func failureIsLoggedAtItsStartOnceAMinuteAndAtItsEnd() {
        for second in 0..<150 as Range<Int64> { trouble.occurred(Full(), at: Timestamp(seconds: second)) }
        trouble.passed(at: 150_000)
        trouble.passed(at: 151_000)
        #expect(
            lines == [
                "error Nothing works", "error Nothing works +59", "error Nothing works +59",
                "notice Passed: Nothing works",
            ]
        )
    }

    @Test func intermittentFailureDoesNotFloodTheLog() {
        for second in 0..<59 as Range<Int64> {
            let moment = Timestamp(seconds: second)
            trouble.occurred(Full(), at: moment)
            trouble.passed(at: moment + .milliseconds(500))
        }
        #expect(lines == ["error Nothing works", "notice Passed: Nothing works"])
    }

    @Test func clockThatGoesBackSuppressesNoReport() {
        trouble.occurred(Full(), at: 10_000_000)
        trouble.occurred(Full(), at: 5_000)
        #expect(lines.count == 2)
    }
}
