import Core
import Foundation
import PluginConformance
import Testing

/// The process that watches the checks, with shells instead of the process that runs them.
@Suite(.timeLimit(.minutes(1)))
struct RunnerTests {
    private let started = #"{"started":{"check":"threads","platform":"ios"}}"#
    private let finished =
        #"{"finished":{"result":{"check":"load","decision":"passed","text":""}}}"#

    private func run(_ script: String, silence: Duration = .seconds(30)) async throws -> ConformanceReport {
        try await ConformanceRunner(executable: "/bin/sh", arguments: ["-c", script], silence: silence)
            .run(ConformancePlan(path: "/x.so"))
    }

    @Test func messagesFormAReport() async throws {
        let report = try await run("cat >/dev/null; echo noise; echo '\(finished)'; echo '{\"ended\":{}}'")
        #expect(report == ConformanceReport(path: "/x.so", results: [CheckResult(.load, .passed)]))
        #expect(report.isPassed)
    }

    @Test func crashFailsTheRunningCheck() async throws {
        let report = try await run("echo '\(finished)'; echo '\(started)'; kill -SEGV $$")
        #expect(report.ending == .crashed(signal: 11))
        #expect(report.results.map(\.check) == [.load, .threads])
        #expect(report.failures.first?.platform == "ios")
        #expect(report.failures.first?.text.contains("SIGSEGV (signal 11)") == true)
    }

    @Test func leavingEarlyIsAFailure() async throws {
        let report = try await run("echo '\(started)'; exit 0")
        #expect(report.ending == .exited(status: 0))
        #expect(report.failures.map(\.check) == [.threads])
    }

    @Test func remainingChecksRunInANewProcess() async throws {
        let report = try await run(
            """
            case $(cat) in
            *'"endedProcess":true'*) echo '{"repeated":{"check":"load"}}'; echo '\(finished.replacing("load", with: "deliver"))' ;;
            *) echo '\(finished)'; echo '\(started)'; kill -SEGV $$ ;;
            esac
            echo '{"ended":{}}'
            """
        )
        #expect(report.ending == .complete)
        #expect(report.results.map(\.check) == [.load, .threads, .deliver])
        #expect(report.failures.map(\.check) == [.threads])
        #expect(!report.isPassed)
    }

    @Test func checkThatCrashesLaterHasFailed() async throws {
        let report = try await run(
            """
            case $(cat) in
            *'"endedProcess":true'*) echo '{"repeated":{"check":"load"}}'; kill -SEGV $$ ;;
            *) echo '\(finished)'; echo '\(started)'; kill -SEGV $$ ;;
            esac
            """
        )
        #expect(report.ending == .crashed(signal: 11))
        #expect(report.results.map(\.check) == [.load, .threads])
        #expect(report.failures.map(\.check) == [.load, .threads])
    }

    @Test func silentProcessIsEnded() async throws {
        let report = try await run("echo '\(started)'; exec sleep 600", silence: .seconds(1))
        #expect(report.ending == .hung(.seconds(1)))
        #expect(report.failures.map(\.check) == [.threads])
    }

    @Test func eventsAfterTheEndAreIgnored() async throws {
        let report = try await run("echo '\(finished)'; echo '{\"ended\":{}}'; exec sleep 600")
        #expect(report.isPassed)
    }

    @Test func planReachesTheProcess() async throws {
        let report = try await run(#"grep -q '"path":"\\/x.so"' && echo '{"ended":{}}'"#)
        #expect(report.ending == .complete)
    }

    @Test func missingExecutableIsAnError() async {
        let runner = ConformanceRunner(executable: "/nowhere/carillon", arguments: [])
        await #expect(throws: (any Error).self) { try await runner.run(ConformancePlan(path: "/x.so")) }
    }

    @Test func incompleteLineIsIgnored() {
        var transcript = ConformanceTranscript()
        transcript.read(started.utf8)
        transcript.read(finished.utf8.prefix(40))
        let report = transcript.report(path: "/x.so", ending: .crashed(signal: 4))
        #expect(report.results.map(\.check) == [.threads])
    }
}
