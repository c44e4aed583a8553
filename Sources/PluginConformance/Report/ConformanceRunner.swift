import Foundation
import Glibc
import Units

/// Runs a conformance test in another process, so that a plugin that crashes or hangs takes only that along. The checks
/// that are left then run in a new process.
package struct ConformanceRunner: Sendable {
    /// Runs ``ConformanceChild`` when started with ``arguments``.
    package var executable: String
    package var arguments: [String]
    /// How long nothing may happen before the process is ended.
    package var silence: Duration

    package init(executable: String, arguments: [String], silence: Duration = .minutes(1)) {
        self.executable = executable
        self.arguments = arguments
        self.silence = silence
    }

    /// Checks `plan`; throws when the executable cannot be started.
    package func run(_ plan: ConformancePlan) async throws -> ConformanceReport {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try check(plan) }) }
        }
    }

    /// Each round takes out the check that ended the process, so that this ends.
    private func check(_ plan: ConformancePlan) throws -> ConformanceReport {
        var plan = plan
        var report = ConformanceReport(path: plan.path)
        var hangs = 0
        while true {
            let (part, interrupted) = try runOnce(JSONEncoder().encode(plan), path: plan.path)
            report.add(part)
            if case .hung = part.ending { hangs += 1 }
            guard part.ending != .complete, let interrupted, hangs < Self.mostHangs,
                !plan.earlier.contains(where: { $0.endedProcess && $0.isOf(interrupted.check, interrupted.platform) })
            else { return report }
            let before = plan.earlier
            plan.earlier = report.results.map { result in
                let isLast = result.isOf(interrupted.check, interrupted.platform)
                let endedBefore = before.contains { $0.endedProcess && $0.isOf(result.check, result.platform) }
                return EarlierCheck(result, endedProcess: isLast || endedBefore)
            }
        }
    }

    /// Each one takes as long as silence is borne.
    private static let mostHangs = 2

    private func runOnce(
        _ plan: Data,
        path: String
    ) throws -> (report: ConformanceReport, interrupted: (check: ConformanceCheck, platform: String?)?) {
        let (child, input, output) = try ChildProcess.start(executable, arguments)
        hand(plan, to: input)

        var transcript = ConformanceTranscript()
        let isSilent = !read(output.fileDescriptor, into: &transcript)
        if isSilent || transcript.hasEnded { child.kill() }
        let ending = child.wait()
        return (transcript.report(path: path, ending: isSilent ? .hung(silence) : ending), transcript.interrupted)
    }

    /// Writes on a thread of its own that blocks `SIGPIPE`: a process that does not read must not end this one.
    private func hand(_ plan: Data, to input: FileHandle) {
        Thread.detachNewThread {
            withUnsafeTemporaryAllocation(of: sigset_t.self, capacity: 1) { signals in
                guard let signals = signals.baseAddress else { return }
                sigemptyset(signals)
                sigaddset(signals, SIGPIPE)
                pthread_sigmask(SIG_BLOCK, signals, nil)
            }
            try? input.write(contentsOf: plan)
            try? input.close()
        }
    }

    /// Reads lines until there are no more; false when none came for too long.
    private func read(_ file: Int32, into transcript: inout ConformanceTranscript) -> Bool {
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !transcript.hasEnded {
            var poller = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            let ready = poll(&poller, 1, Int32(clamping: silence.milliseconds))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { return ready < 0 }
            let count = Glibc.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return true }
            pending += buffer[..<count]
            while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                transcript.read(pending[..<end])
                pending.removeSubrange(...end)
            }
        }
        return true
    }
}

/// The process that runs the checks and may be taken along by the plugin: the other end of ``ConformanceRunner``.
package enum ConformanceChild {
    /// Reads a plan, in JSON, from standard input, runs its checks, writes each step as a line of JSON to standard
    /// output, and ends the process: 0 when the plugin passed, 1 when it did not, 2 when there was no plan.
    ///
    /// What the plugin prints goes to standard error.
    package static func run() async -> Never {
        guard
            let text = try? FileHandle.standardInput.readToEnd(),
            let plan = try? JSONDecoder().decode(ConformancePlan.self, from: text)
        else { leave(2) }
        let output = dup(STDOUT_FILENO)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        let report = await PluginConformance.check(plan, progress: .lines(to: output))
        leave(report.isPassed ? 0 : 1)
    }

    /// Without the library's exit handlers: all has been said.
    private static func leave(_ status: Int32) -> Never { _exit(status) }
}
