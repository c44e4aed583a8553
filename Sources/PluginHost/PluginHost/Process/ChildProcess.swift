// On some systems, `timespec` is only in here.
import CDispatch
import CSpawn
import Core
import Glibc

/// Controls a process that the router started.
package protocol ProcessControl: Sendable {
    /// The process ID.
    var id: Int32 { get }
    /// A descriptor that becomes readable when the process has ended.
    var handle: Int32 { get }
    /// Kills it immediately.
    func kill()
    /// Crashes one of its threads, so that it reports its stack.
    func abort(thread: UInt32)
    /// How it ended, once; nil: it is running.
    func reap() -> ProcessExit?
    /// Its processor time up to now.
    func processorTime() -> Duration?
}

/// A started process, and the router's ends of its connections.
package struct StartedProcess: Sendable {
    package var control: any ProcessControl
    package var deliveries: Int32
    package var questions: Int32
    /// The reading end of the pipe of crash reports.
    package var crashes: Int32
    /// The reading end of its standard error.
    package var errors: Int32
    /// Its `/proc/PID/statm`; -1: unknown. Opened before the process hides itself from other processes.
    package var memory: Int32 = -1

    /// The descriptors that the sockets do not own.
    var others: [Int32] { [errors, crashes, control.handle] + (memory < 0 ? [] : [memory]) }

    func close() { for descriptor in [deliveries, questions] + others { Glibc.close(descriptor) } }

    /// Its resident memory from `/proc/PID/statm`, including shared memory and libraries.
    func residentMemory() -> ByteCount? {
        guard memory >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = pread(memory, &bytes, bytes.count, 0)
        let fields = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
        return ByteCount(pages * sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// Why a process could not be started.
package struct StartError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A process that loads plugins.
package struct ChildProcess: ProcessControl {
    package let id: Int32
    package let handle: Int32

    /// Starts `program` with only the four connections. It takes up to a few milliseconds.
    package static func start(_ program: String, _ arguments: [String] = []) throws(StartError) -> StartedProcess {
        var pairs: [(ours: Int32, theirs: Int32)] = []
        func abandon(_ what: String) -> StartError {
            let reason = String(cString: strerror(errno))
            for pair in pairs { close(pair.ours) }
            return StartError("cannot start \(program): \(what): \(reason)")
        }
        defer { for pair in pairs { close(pair.theirs) } }
        for _ in 0..<2 {
            guard let pair = socketPair() else { throw abandon("socketpair") }
            pairs.append(pair)
        }
        for _ in 0..<2 {
            guard let pair = pipePair() else { throw abandon("pipe") }
            pairs.append(pair)
        }
        var id: pid_t = 0
        var handle: Int32 = -1
        let failure = withStrings([program] + arguments) { arguments in
            withStrings(environment) { environment in
                carillon_spawn(
                    program,
                    arguments,
                    environment,
                    pairs[3].theirs,
                    pairs[0].theirs,
                    pairs[1].theirs,
                    pairs[2].theirs,
                    &id,
                    &handle
                )
            }
        }
        guard failure == 0 else {
            errno = failure
            throw abandon("spawn")
        }
        offer(id)
        return StartedProcess(
            control: ChildProcess(id: id, handle: handle),
            deliveries: pairs[0].ours,
            questions: pairs[1].ours,
            crashes: pairs[2].ours,
            errors: pairs[3].ours,
            memory: open("/proc/\(id)/statm", O_RDONLY | O_CLOEXEC)
        )
    }

    /// If memory runs out, the kernel should kill this process instead of the router.
    private static func offer(_ id: pid_t) {
        let file = open("/proc/\(id)/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "500", 3)
        close(file)
    }

    /// Starts a process for a Python plugin.
    package static func start(_ python: PythonPrograms) throws(StartError) -> StartedProcess {
        guard !python.interpreter.isEmpty else {
            throw StartError("python3 not found; install it, or set plugins.python")
        }
        guard !python.program.isEmpty else {
            throw StartError("carillon-plugin-python is not installed next to carillon-plugin-host")
        }
        // Ignores the user's variables and directories, writes no cache next to the plugin, and uses UTF-8 in any
        // locale.
        let errors = python.showsErrors ? ["--tracebacks"] : []
        return try start(python.interpreter, ["-I", "-B", "-X", "utf8", python.program] + errors)
    }

    /// Both ends of a stream socket, closed by exec.
    package static func socketPair() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        return (ends[0], ends[1])
    }

    private static func pipePair() -> (ours: Int32, theirs: Int32)? {
        var ends: [Int32] = [0, 0]
        let failure = carillon_pipe(&ends)
        errno = failure
        return failure == 0 ? (ends[0], ends[1]) : nil
    }

    /// The few variables that a plugin process needs. Swift's own crash reports would fork and trace.
    private static var environment: [String] {
        let names: [String] = ["LANG", "TZ", "LD_LIBRARY_PATH"]
        let kept = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        return ["SWIFT_BACKTRACE=enable=no"] + kept
    }

    private static func withStrings<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("an array with an element has an address") }
            return body(start)
        }
    }

    package func kill() { _ = carillon_signal_process(handle, SIGKILL) }

    package func abort(thread: UInt32) {
        guard let thread = Int32(exactly: thread), carillon_signal_thread(id, thread, SIGABRT) == 0 else {
            return kill()
        }
    }

    package func reap() -> ProcessExit? {
        var (signal, status): (Int32, Int32) = (0, 0)
        switch carillon_reap(handle, &signal, &status) {
        case 0: return nil
        case 1: return ProcessExit(signal: signal, status: status)
        // Another waiter has reaped it, so its end is unknown.
        default: return ProcessExit(signal: SIGKILL, status: 0)
        }
    }

    package func processorTime() -> Duration? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
