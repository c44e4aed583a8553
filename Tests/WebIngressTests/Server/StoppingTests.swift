import Core
import Dispatch
import Listeners
import ListeningTestSupport
import Logging
import NIOPosix
import Testing
import TimeTestSupport

@testable import WebIngress

@Suite struct StoppingTests {
    @Test func onlyRequestsInFlightAreAnsweredOnStop() async throws {
        let backend = RecordingBackend(isDoorShut: true)
        try await ServedIngress.run(backend) { ingress in
            let idle = try await ingress.connect()
            let connection = try await ingress.connect()
            await connection.send("POST /push/\(Samples.token)/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            await backend.someoneWaits()
            async let stopped: Void = ingress.ingress.stop(within: .minutes(1))
            // A client without a request is disconnected, but only after the listening socket was closed.
            #expect(await idle.rest() == "")
            await #expect(throws: (any Error).self) { _ = try await ingress.connect() }
            backend.door.signal()
            #expect(try await connection.status() == 202)
            #expect(await connection.rest() == "")
            await stopped
        }
    }

    @Test func slowRequestIsNotWaitedForOnStop() async throws {
        try await ServedIngress.run { ingress in
            let connection = try await ingress.connect()
            await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.status() == 200)
            await connection.send("POST /push/\(Samples.token)/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
            await ingress.ingress.stop(within: .milliseconds(100))
            #expect(await !connection.rest().contains(" 202 "))
        }
    }

    @Test func takenPortIsReported() async throws {
        try await ServedIngress.run { first in
            var configuration = WebIngressConfiguration()
            configuration.port = first.port
            let second = HTTPServer(
                configuration: configuration,
                platform: Samples.platform,
                keep: RecordingBackend().keep,
                loop: MultiThreadedEventLoopGroup.singleton.next(),
                now: { 0 },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let error = await #expect(throws: ListenError.self) { _ = try await second.start() }
            #expect(error?.description == "the address is in use by another program")
            await second.stop(within: .zero)
        }
    }
}
