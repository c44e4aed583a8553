import Foundation
import Glibc
import Synchronization

/// A process that was started and will be waited for.
///
/// Not Foundation's `Process`: that reaps on its own, so that a signal sent late could reach a stranger, and its
/// waiting turns a run loop that may miss the end.
struct ChildProcess {
    private let id: pid_t

    /// Held while there are descriptors that a child started meanwhile would keep open.
    private static let starting = Mutex(())

    /// Starts `executable`, found by its path alone. Returns it with the other ends of its standard input and output.
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
            // Left open, these would keep the pipes alive after the process is gone.
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

        // A plugin's crash is reported by its signal; a backtrace of this program says nothing of it.
        let environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let words = ([executable] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var id: pid_t = 0
        let error = posix_spawn(&id, executable, &actions, nil, words, variables)
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EINVAL) }
        self.id = id
    }

    /// Ends it at once. Only before ``wait()``.
    func kill() { _ = Glibc.kill(id, SIGKILL) }

    /// Waits for its end; to be called once.
    func wait() -> ConformanceReport.Ending {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            if errno != EINTR { return .exited(status: -1) }
        }
        // What the macros of <sys/wait.h> do, which Swift does not import.
        let signal = status & 0x7f
        return signal == 0 ? .exited(status: status >> 8 & 0xff) : .crashed(signal: signal)
    }
}
