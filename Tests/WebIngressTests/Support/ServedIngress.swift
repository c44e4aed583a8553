import Core
import Listeners
import ListeningTestSupport
import Logging
import NIOCore
import NIOPosix
import TimeTestSupport

@testable import WebIngress

/// An ingress on a port chosen by the system, for the duration of a test.
struct ServedIngress {
    let port: Int
    let ingress: HTTPServer
    let clock: ManualClock
    let counts: LimitCounts

    static func configuration(_ change: (inout WebIngressConfiguration) -> Void) -> WebIngressConfiguration {
        var configuration = WebIngressConfiguration()
        configuration.port = 0
        // On a busy machine a test may wait longer than a client may take.
        configuration.limits.bodyTimeout = .minutes(2)
        configuration.limits.idleTimeout = .minutes(2)
        change(&configuration)
        return configuration
    }

    static func run(
        _ backend: RecordingBackend = RecordingBackend(),
        _ configuration: WebIngressConfiguration = configuration { _ in },
        _ body: (ServedIngress) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let counts = LimitCounts(WebIngressConfiguration.clientLimits)
        var configuration = configuration
        configuration.counts = counts
        let ingress = HTTPServer(
            configuration: configuration,
            platform: Samples.platform,
            keep: backend.keep,
            loop: MultiThreadedEventLoopGroup.singleton.next(),
            now: clock.now,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let served = ServedIngress(port: try await ingress.start(), ingress: ingress, clock: clock, counts: counts)
        do {
            try await body(served)
        } catch {
            await ingress.stop(within: .zero)
            throw error
        }
        await ingress.stop(within: .seconds(10))
    }

    func connect() async throws -> RawConnection { try await RawConnection(port: port) }

    /// Sends a request on its own connection; returns the response's head.
    func ask(_ head: String, _ body: [UInt8] = []) async throws -> String {
        let connection = try await connect()
        await connection.send(head + "\r\nHost: test\r\nContent-Length: \(body.count)\r\n\r\n")
        if !body.isEmpty { await connection.send(body) }
        let answer = try await connection.heads()[0]
        await connection.close()
        return answer
    }

    func status(_ head: String, _ body: [UInt8] = []) async throws -> Int {
        try await Int(ask(head, body).split(separator: " ")[1]) ?? 0
    }
}
