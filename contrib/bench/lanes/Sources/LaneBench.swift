import Foundation
import Glibc
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Pushes notifications of APNs' size over one connection, 500 at a time, and prints the cost.
///
/// `run` next to it builds everything, starts the server and compares with h2load and libcurl.
@main
enum LaneBench {
    static let usage = """
        usage: LaneBench lane --origin https://localhost:PORT --ca FILE --requests N
               LaneBench plugin --origin https://localhost:PORT --ca FILE --requests N --folder PLUGINS --key FILE
        `lane` hands finished requests to the lanes; `plugin` hands notifications to the built APNs plugin, which is
        loaded from the folder into its process and signs its tokens with the key. That process counts, and needs
        carillon-plugin-host beside this program.
        Prints: requests a second, CPU seconds per 100,000 requests, largest resident set in KiB, failures
        """

    static func main() async throws {
        let arguments: Arguments
        do {
            arguments = try Arguments(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("\(error)\n\(usage)\n".utf8))
            exit(2)
        }
        var settings = ConnectionSettings()
        settings.connectionsPerOrigin = 1
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lanes = try HTTPLanes(
            configuration: .init(caFile: arguments.caFile, lanes: settings),
            group: group,
            logger: Logger(label: "bench")
        )
        let failed: Int
        switch arguments.subject {
        case .lane: failed = await measure(LaneLoad(lanes: lanes, origin: arguments.origin), arguments.requests)
        case .plugin(let folder, let keyFile):
            let load = try PluginLoad(lanes: lanes, origin: arguments.origin, folder: folder, keyFile: keyFile)
            failed = await measure(load, arguments.requests, beside: load.process)
            await load.end()
        }
        await lanes.shutdown()
        try await group.shutdownGracefully()
        exit(failed == 0 ? 0 : 1)
    }

    /// `process` is another one that counts.
    private static func measure(_ load: any Load, _ requests: Int, beside process: Int32? = nil) async -> Int {
        let run = Run(load: load, requests: requests)
        let before = Usage(beside: process)
        let failed = await run.failures()
        let used = Usage(beside: process).since(before)
        let perHundredThousand = used.cpuSeconds * 100_000 / Double(requests)
        print(
            Int(Double(requests) / used.seconds),
            String(format: "%.4f", perHundredThousand),
            used.largestResidentKiB,
            failed
        )
        return failed
    }
}

/// The command line's arguments.
struct Arguments {
    enum Subject {
        case lane
        case plugin(folder: String, keyFile: String)
    }

    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    let subject: Subject
    let origin: String
    let caFile: String
    let requests: Int

    init(_ words: some Collection<String>) throws(Mistake) {
        var options: [String: String] = [:]
        var rest = words.dropFirst()
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Mistake(description: "\(name): expected a value") }
            options[name] = value
        }
        func option(_ name: String) throws(Mistake) -> String {
            guard let value = options[name] else { throw Mistake(description: "\(name) is missing") }
            return value
        }
        switch words.first {
        case "lane": subject = .lane
        case "plugin": subject = .plugin(folder: try option("--folder"), keyFile: try option("--key"))
        default: throw Mistake(description: "expected lane or plugin")
        }
        origin = try option("--origin")
        caFile = try option("--ca")
        guard let requests = Int(try option("--requests")), requests > 0 else {
            throw Mistake(description: "--requests: expected a number")
        }
        self.requests = requests
    }
}

/// Keeps 500 pushes of a load in flight until all are done.
final class Run: Sendable {
    private struct State {
        var started = 0
        var ended = 0
        var failed = 0
        var waiter: CheckedContinuation<Int, Never>?
    }

    private static let inFlight = 500

    private let load: any Load
    private let requests: Int
    private let state = Mutex(State())

    init(load: any Load, requests: Int) {
        self.load = load
        self.requests = requests
    }

    /// Runs, once; returns how many failed.
    func failures() async -> Int {
        await withCheckedContinuation { waiter in
            state.withLock { $0.waiter = waiter }
            for _ in 0..<Self.inFlight { next() }
        }
    }

    private func next() {
        let number = state.withLock { state -> Int? in
            guard state.started < requests else { return nil }
            state.started += 1
            return state.started
        }
        guard let number else { return }
        load.push(number) { [self] isGood in
            let over = state.withLock { state -> (CheckedContinuation<Int, Never>?, Int) in
                state.ended += 1
                if !isGood { state.failed += 1 }
                guard state.ended == requests else { return (nil, 0) }
                defer { state.waiter = nil }
                return (state.waiter, state.failed)
            }
            over.0?.resume(returning: over.1)
            next()
        }
    }
}

/// The resources that this process has used, and the processor time of another one.
struct Usage {
    private(set) var seconds: Double
    private(set) var cpuSeconds: Double
    let largestResidentKiB: Int

    /// Reads the use up to now.
    init(beside process: Int32?) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        seconds = Self.seconds(CLOCK_MONOTONIC)
        cpuSeconds = Self.seconds(CLOCK_PROCESS_CPUTIME_ID)
        largestResidentKiB = usage.ru_maxrss
        var clock = clockid_t()
        if let process, clock_getcpuclockid(process, &clock) == 0 { cpuSeconds += Self.seconds(clock) }
    }

    func since(_ earlier: Usage) -> Usage {
        var difference = self
        difference.seconds -= earlier.seconds
        difference.cpuSeconds -= earlier.cpuSeconds
        return difference
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
