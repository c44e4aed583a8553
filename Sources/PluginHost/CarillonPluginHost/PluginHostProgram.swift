import CIsolation
import Glibc
import PluginProtocol

/// `carillon-plugin-host`: the process for plugins. The router starts it and talks to it over two sockets;
/// `contrib/docs/plugin-protocol.md` describes the protocol.
@main
enum PluginHostProgram {
    private static let deliveries: Int32 = 3
    private static let questions: Int32 = 4
    private static let crashes: Int32 = 5

    private static let help = """
        usage: carillon-plugin-host

        Runs plugins for the Carillon push router in a separate process. The router starts it: descriptors 3 and 4
        are sockets, 5 is a pipe. Do not run it yourself; "carillon plugin check" tests a plugin.

        options:
          --version  Show the versions of protocol and plugin ABI.
          --help     Show this help.

        """

    static func main() {
        for argument in CommandLine.arguments.dropFirst() where argument.hasPrefix("-") {
            switch argument {
            case "--version":
                print("protocol \(HelloMessage.version), plugin ABI 1.\(PluginLibrary.abiMinor)")
                exit(0)
            case "-h", "--help":
                print(help, terminator: "")
                exit(0)
            default:
                Process.say("unknown option \(argument)\n\(help)")
                exit(2)
            }
        }
        guard isSocket(deliveries), isSocket(questions) else {
            Process.say("the router starts this program with two sockets, which are missing\n\(help)")
            exit(2)
        }
        // The router ends a process by closing the sockets. Signals from a terminal or an init system to the whole
        // group must not end deliveries that the router still waits for.
        for number in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT] { signal(number, SIG_IGN) }
        let failure = carillon_report_crashes(crashes)
        if failure != 0 { Process.say("cannot report crashes: \(String(cString: strerror(failure)))") }
        PluginProcess(deliveries: deliveries, questions: questions).run()
    }

    private static func isSocket(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}

enum Process {
    /// Writes a line to the router's log.
    static func say(_ line: String) {
        var line = "carillon-plugin-host: \(line)\n"
        line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    /// Ends the process immediately, after an impossible frame or a system call that must not fail.
    static func fail(_ line: String) -> Never {
        say(line)
        _exit(1)
    }

    /// Ends the process, because the router closed a socket or is gone.
    static func end() -> Never { _exit(0) }
}

/// Drops the process's rights in two stages: each thread enters the first before the first library is loaded, and all
/// enter the second after the last.
final class Confinement: Sendable {
    private struct State {
        /// The first `load` message; nil: not received yet.
        var first: LoadMessage?
        /// The number of threads in the first stage.
        var threads = 0
        /// The confinement of all threads, as `CARILLON_CONFINED_…`.
        var bits: Int32 = CARILLON_CONFINED_FILES | CARILLON_CONFINED_CALLS
    }

    private static let threads = 3

    private let state = Monitor(State())

    /// Handles the first `load`: sets the limits, and releases the threads.
    func begin(_ load: LoadMessage) {
        let failure = carillon_limit_memory(load.memoryLimit)
        if failure != 0 { Process.say("cannot limit memory: \(String(cString: strerror(failure)))") }
        state.change { $0.first = load }
    }

    /// Waits for the first `load`, and moves the calling thread into the first stage. Each thread calls it once.
    func enter() {
        let load = state.wait(\.first)
        let bits = load.isSandboxed ? Self.confine(load.libraries) : 0
        state.change { state in
            state.threads += 1
            state.bits &= bits
        }
    }

    /// Waits for all threads; returns their confinement.
    func awaitAll() -> UInt32 {
        state.wait { $0.threads < Self.threads ? nil : UInt32(bitPattern: $0.bits) }
    }

    /// Enters the second stage with all threads; returns the process's confinement.
    func close(_ load: LoadMessage) -> UInt32 {
        guard load.isSandboxed else { return awaitAll() }
        let bits = carillon_confine_running()
        // The first stage restricts little, so it counts only together with the second.
        return UInt32(bitPattern: bits | state.change { $0.bits & CARILLON_CONFINED_FILES })
    }

    private static func confine(_ paths: [String]) -> Int32 {
        let copies = paths.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) }
        return pointers.withUnsafeBufferPointer { carillon_confine_loading($0.baseAddress, $0.count) }
    }
}
