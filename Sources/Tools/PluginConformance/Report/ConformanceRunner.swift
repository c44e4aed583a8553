import Core
import Foundation
import Glibc
import Synchronization

/// Runs a conformance test in another process, so that a plugin that crashes or hangs takes down only that. The
/// remaining checks then run in a new process.
package struct ConformanceRunner: Sendable {
    /// Must run ``ConformanceChild`` when started with ``arguments``.
    package var executable: String
    package var arguments: [String]
    /// The maximum time without progress before the process is killed.
    package var silence: Duration

    package init(executable: String, arguments: [String], silence: Duration = .minutes(1)) {
        self.executable = executable
        self.arguments = arguments
        self.silence = silence
    }

    /// Checks `plan`; throws if the executable cannot be started.
    package func run(_ plan: ConformancePlan) async throws -> ConformanceReport {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try check(plan) }) }
        }
    }

    /// Each round removes the check that ended the process, so this terminates.
    private func check(_ plan: ConformancePlan) throws -> ConformanceReport {
        var plan = plan
        var report = ConformanceReport(path: plan.path)
        var hangs = 0
        while true {
            let (part, interrupted) = try runOnce(JSONEncoder().encode(plan), path: plan.path)
            report.add(part)
            if case .hung = part.ending { hangs += 1 }
            guard part.ending != .complete, let interrupted, hangs < Self.maxHangs,
                !plan.earlier.contains(where: {
                    $0.endedProcess && $0.result.isOf(interrupted.check, interrupted.platform)
                })
            else { return report }
            let before = plan.earlier
            plan.earlier = report.results.map { result in
                let isLast = result.isOf(interrupted.check, interrupted.platform)
                let endedBefore = before.contains { $0.endedProcess && $0.result.isOf(result.check, result.platform) }
                return EarlierCheck(result, endedProcess: isLast || endedBefore)
            }
        }
    }

    /// Each one costs the whole `silence` time.
    private static let maxHangs = 2

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

    /// Writes on a separate thread that blocks `SIGPIPE`: a process that does not read must not end this one.
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

    /// Reads lines until the end; false if none came in time.
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

/// The process that runs the checks and that the plugin may crash: the counterpart of ``ConformanceRunner``.
package enum ConformanceChild {
    /// Reads a plan in JSON from standard input, runs its checks, writes each step as a line of JSON to standard
    /// output, and exits: 0 if the plugin passed, 1 if it did not, 2 if there was no plan.
    ///
    /// The plugin's own output goes to standard error.
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

    /// Skips the library's exit handlers, because the report is complete.
    private static func leave(_ status: Int32) -> Never { _exit(status) }
}

/// A child process to wait for.
///
/// Not Foundation's `Process`: that reaps automatically, so that a late signal could reach another process, and its
/// waiting runs a run loop that may miss the end.
struct ChildProcess {
    private let id: pid_t

    /// Held while descriptors exist that a concurrently started child would inherit.
    private static let starting = Mutex(())

    /// Starts `executable` by its path, without a search. Returns it with the other ends of its standard input and
    /// output.
    static func start(
        _ executable: String,
        _ arguments: [String]
    ) throws -> (child: ChildProcess, input: FileHandle, output: FileHandle) {
        try starting.withLock { _ in
            let input = Pipe()
            let output = Pipe()
            for pipe in [input, output] {
                for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                    _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
                }
            }
            let child = try ChildProcess(
                executable,
                arguments,
                input: input.fileHandleForReading.fileDescriptor,
                output: output.fileHandleForWriting.fileDescriptor
            )
            // Left open, these would keep the pipes alive after the process has ended.
            try input.fileHandleForReading.close()
            try output.fileHandleForWriting.close()
            return (child, input.fileHandleForWriting, output.fileHandleForReading)
        }
    }

    private init(_ executable: String, _ arguments: [String], input: Int32, output: Int32) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)

        // A plugin's crash is reported by its signal; this program's backtrace would not help.
        let environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let words = ([executable] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var id: pid_t = 0
        let error = posix_spawn(&id, executable, &actions, nil, words, variables)
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EINVAL) }
        self.id = id
    }

    /// Kills it immediately. Only before ``wait()``.
    func kill() { _ = Glibc.kill(id, SIGKILL) }

    /// Waits for its end. Call this once.
    func wait() -> ConformanceReport.Ending {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            if errno != EINTR { return .exited(status: -1) }
        }
        // The macros of <sys/wait.h>, which Swift does not import.
        let signal = status & 0x7f
        return signal == 0 ? .exited(status: status >> 8 & 0xff) : .crashed(signal: signal)
    }
}
