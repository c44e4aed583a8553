import Foundation
import HTTPLanes
import Logging
import NIOCore
import NIOPosix

/// Pushes notifications of APNs' size over one connection, 500 at a time, and prints what that took.
///
/// `run` beside it builds everything, starts the server and compares with h2load and libcurl.
@main
enum LaneBench {
    static let usage = """
        usage: LaneBench lane --origin https://localhost:PORT --ca FILE --requests N
               LaneBench plugin --origin https://localhost:PORT --ca FILE --requests N --folder PLUGINS --key FILE
        `lane` hands finished requests to the lanes; `plugin` hands notifications to the built APNs plugin, which is
        loaded from the folder and signs its tokens with the key.
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
            failed = await measure(load, arguments.requests)
            await load.end()
        }
        await lanes.shutdown()
        try await group.shutdownGracefully()
        exit(failed == 0 ? 0 : 1)
    }

    private static func measure(_ load: any Load, _ requests: Int) async -> Int {
        let run = Run(load: load, requests: requests)
        let before = Usage.now
        let failed = await run.failures()
        let used = Usage.now.since(before)
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
