import HTTPLanes
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Sends requests of APNs' size over one lane, 500 at a time, and prints how many a second were answered.
///
/// Usage: `LaneBench <url> <certificate file> <requests>`; `run` beside it compares with h2load.
@main
final class LaneBench: Sendable {
    private struct State {
        var sent = 0
        var answered = 0
        var failed = 0
        var done: CheckedContinuation<Void, Never>?
    }

    private let lanes: HTTPLanes
    private let url: String
    private let total: Int
    private let state = NIOLockedValueBox(State())
    private let body = [UInt8](
        #"{"aps":{"alert":{"title":"bench","body":"\#(String(repeating: "b", count: 158))"}}}"#.utf8
    )
    private let token = "bearer " + String(repeating: "t", count: 200)

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let total = Int(arguments[3]) else {
            print("usage: LaneBench <url> <certificate file> <requests>")
            return
        }
        var settings = LaneSettings()
        settings.connectionsPerOrigin = 1
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lanes = try HTTPLanes(
            configuration: .init(caFile: arguments[2], lanes: settings),
            group: group,
            logger: Logger(label: "bench")
        )
        let bench = LaneBench(lanes: lanes, url: arguments[1], total: total)
        let start = ContinuousClock.now
        await bench.run()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let failed = bench.state.withLockedValue { $0.failed }
        print("\(Int(Double(total) / seconds)) requests/s, \(failed) failed")
        await lanes.shutdown()
        try await group.shutdownGracefully()
    }

    private init(lanes: HTTPLanes, url: String, total: Int) {
        self.lanes = lanes
        self.url = url
        self.total = total
    }

    private func run() async {
        await withCheckedContinuation { continuation in
            state.withLockedValue { $0.done = continuation }
            for _ in 0..<500 { sendNext() }
        }
    }

    private func sendNext() {
        let number = state.withLockedValue { state -> Int? in
            guard state.sent < total else { return nil }
            state.sent += 1
            return state.sent
        }
        guard let number else { return }
        let request = HTTPRequest(
            method: "POST",
            url: url,
            headers: [
                HTTPField("authorization", token),
                HTTPField("apns-id", Self.identifier(number)),
                HTTPField("apns-topic", "com.example.app"),
                HTTPField("apns-push-type", "alert"),
                HTTPField("apns-priority", "10"),
                HTTPField("apns-expiration", "0"),
            ],
            body: body,
            multiplexed: true
        )
        lanes.send(request) { [self] result in
            let isGood = if case .success(let response) = result { response.status == 200 } else { false }
            let done = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
                state.answered += 1
                if !isGood { state.failed += 1 }
                guard state.answered == total else { return nil }
                defer { state.done = nil }
                return state.done
            }
            done?.resume()
            sendNext()
        }
    }

    /// As long as a UUID, and different every time.
    private static func identifier(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "9d4f1c2e-5b7a-4e21-8c3d-" + String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits
    }
}
