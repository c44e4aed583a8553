import Foundation
import Glibc
import PluginConformance
import Testing

/// A crash of the process names the check during which the plugin crashed.
@Suite(.timeLimit(.minutes(2)))
struct CrashTests {
    @Test func crashIsReportedWithItsCheck() async throws {
        let workshop = try Workshop()
        let plan = try plan(workshop, doing: "crash")
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardOutputContent]) {
            [plan = plan as ConformancePlan] in
            _ = await PluginConformance.check(plan, progress: .lines(to: STDOUT_FILENO))
        }
        let report = report(of: result?.standardOutputContent ?? [], plan, signal: SIGABRT)
        #expect(report.failures.map(\.check) == [.oddAnswers])
        #expect(report.failures.first?.platform == "fixture")
        let text = try #require(report.failures.first?.text)
        #expect(text.hasPrefix("it crashed with SIGABRT"))
        #expect(text.hasSuffix("at: an empty 204"))
        #expect(!report.isPassed)
    }

    @Test func theOtherChecksRunAfterACrash() async throws {
        let workshop = try Workshop()
        let plan = try plan(workshop, doing: "crash")
        let runner = ConformanceRunner(
            executable: try workshop.program("carillon"),
            arguments: ["plugin", "check", "--in-process"]
        )
        let report = try await runner.run(plan)
        // It crashes at an empty 204 response, which two checks send.
        #expect(report.failures.map(\.check) == [.oddAnswers, .borrowedMemory])
        #expect(report.failures.allSatisfy { $0.text.hasPrefix("it crashed with SIGABRT") })
        #expect(report.ending == .complete)
        #expect(!report.isPassed)
        #expect(Set(report.results.map(\.check)) == Set(ConformanceCheck.ofTransports))
        #expect(report.results.count == ConformanceCheck.ofTransports.count)
        let judged = report.results.first { $0.check == .completes }
        #expect(judged?.decision == .passed)
        #expect(judged?.text.hasPrefix("0 deliveries") == false)
    }

    /// In its second process a plugin does not get the questions of the first again.
    @Test func checkFromTheFirstProcessIsNotRepeated() async throws {
        let workshop = try Workshop()
        var plan = try plan(workshop, doing: "twice")
        let first = await PluginConformance.check(plan)
        let known = try #require(first.results.firstIndex { $0.check == .outcome })
        plan.earlier = first.results[..<known].map { EarlierCheck($0, endedProcess: false) }
        let second = await PluginConformance.check(plan)
        #expect(second.results.map(\.check) == first.results[known...].map(\.check))
        #expect(first.failures.map(\.check) == [.completesOnce])
        #expect(second.failures == [])
    }

    @Test(.disabled(if: isUnderAddressSanitizer, "it ends the process itself, before the guard page can"))
    func readingBeyondALoanCrashes() async throws {
        let workshop = try Workshop()
        let plan = try plan(workshop, doing: "overread")
        let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardOutputContent]) {
            [plan = plan as ConformancePlan] in
            _ = await PluginConformance.check(plan, progress: .lines(to: STDOUT_FILENO))
        }
        let report = report(of: result?.standardOutputContent ?? [], plan, signal: SIGSEGV)
        #expect(report.failures.map(\.check) == [.borrowedMemory])
    }

    private static var isUnderAddressSanitizer: Bool { dlsym(nil, "__asan_init") != nil }

    private func plan(_ workshop: Workshop, doing behaviour: String) throws -> ConformancePlan {
        try workshop.plan(Workshop.misbehaving, doing: behaviour)
    }

    private func report(of output: [UInt8], _ plan: ConformancePlan, signal: Int32) -> ConformanceReport {
        var transcript = ConformanceTranscript()
        for line in output.split(separator: UInt8(ascii: "\n")) { transcript.read(line) }
        #expect(!transcript.hasEnded)
        return transcript.report(path: plan.path, ending: .crashed(signal: signal))
    }
}
