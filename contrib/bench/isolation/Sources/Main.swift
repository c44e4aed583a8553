import CarillonABI
import Core
import Glibc
import Logging
import PluginHost
import PluginProtocol

/// Delivers at random times through a plugin in its process, with an HTTP request each, answered after 20 ms. Prints
/// the processor time of both processes and the time per delivery.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 5, arguments[3] == "decide", let seconds = Double(arguments[4]) {
            return try Decisions(program: arguments[1], plugin: arguments[2]).run(seconds: seconds)
        }
        if arguments.count > 3, arguments[2] == "memory" {
            return try Memory(program: arguments[1], libraries: Array(arguments[3...])).run()
        }
        guard arguments.count == 5, let rate = Double(arguments[3]), let seconds = Double(arguments[4]) else {
            print(
                "isolation-bench PROGRAM PLUGIN RATE SECONDS, PROGRAM PLUGIN decide SECONDS, or PROGRAM memory LIBRARY…"
            )
            exit(64)
        }
        let supervisor = ChildSupervisor(
            settings: IsolationSettings(program: arguments[1]),
            log: Logger(label: "bench")
        )
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: arguments[2])], into: supervisor)[0].get()
        let load = Load()
        guard let instance = plugin.create(.transport, at: 0, configuration: "{}", for: load).instance else {
            preconditionFailure("no transport")
        }
        let process = supervisor.report.process
        load.run(instance, rate: rate, seconds: 1)
        load.durations = []
        let start = used(process)
        load.run(instance, rate: rate, seconds: seconds)
        let cost = used(process) - start
        let sorted = load.durations.sorted()
        let microseconds = Double(cost.components.attoseconds) / 1e12 + Double(cost.components.seconds) * 1e6
        print(
            "rate \(Int(rate))",
            "deliveries \(sorted.count)",
            "refused \(load.refused)",
            "cpu us/delivery \((microseconds / Double(sorted.count) * 10).rounded() / 10)",
            "p50 \(sorted[sorted.count / 2]) us",
            "p99 \(sorted[sorted.count * 99 / 100]) us"
        )
    }

    /// Processor time of this process and the other.
    private static func used(_ process: Int32?) -> Duration {
        func time(_ clock: clockid_t) -> Duration {
            var time = timespec()
            clock_gettime(clock, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        var clock = clockid_t()
        guard let process, clock_getcpuclockid(process, &clock) == 0 else { return time(CLOCK_PROCESS_CPUTIME_ID) }
        return time(CLOCK_PROCESS_CPUTIME_ID) + time(clock)
    }
}
