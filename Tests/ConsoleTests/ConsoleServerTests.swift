import Foundation
import ListeningTestSupport
import Logging
import NIOPosix
import Synchronization
import Testing
import TimeTestSupport
import Units

@testable import Console

/// A real server on a port of the system's choice, asked by a client that writes bytes.
@Suite(.timeLimit(.minutes(1)))
struct ConsoleServerTests {
    private static let token = "0123456789abcdef0123456789"

    private final class Backend: ConsoleBackend {
        let calls = Mutex<[ConsoleCall]>([])

        func answer(_ call: ConsoleCall) async -> ConsoleAnswer {
            calls.withLock { $0.append(call) }
            return call == .metrics ? .metrics([]) : ConsoleAnswer(body: "{\"call\":\(JSONText.quoted("\(call)"))}\n")
        }
    }

    private let backend = Backend()

    private static func configuration(
        _ change: (inout ConsoleConfiguration) -> Void = { _ in }
    ) -> ConsoleConfiguration {
        var configuration = ConsoleConfiguration()
        configuration.port = 0
        change(&configuration)
        return configuration
    }

    private func run(
        _ configuration: ConsoleConfiguration = configuration(),
        _ body: (Int) async throws -> Void
    ) async throws {
        let token = try #require(APIToken(Self.token))
        let server = ConsoleServer(
            configuration: configuration,
            token: { token },
            backend: backend,
            loop: MultiThreadedEventLoopGroup.singleton.next(),
            now: { 1_000 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let port = try await server.start()
        do {
            try await body(port)
        } catch {
            await server.stop(within: .zero)
            throw error
        }
        await server.stop(within: .zero)
    }

    /// The whole answer to a request, after which the connection ends.
    private func ask(
        _ port: Int,
        _ line: String,
        token: String? = nil,
        _ further: String = "",
        _ body: String = ""
    ) async throws -> String {
        let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let connection = try await RawConnection(port: port)
        await connection.send("\(line) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(field)\(further)\r\n\(body)")
        return await connection.rest()
    }

    @Test func healthIsForEverybodyAndTheRestTakesTheToken() async throws {
        try await run { port in
            #expect(try await ask(port, "GET /healthz").hasPrefix("HTTP/1.1 200 "))
            #expect(try await ask(port, "GET /readyz").contains("readiness(withDetails: false)"))
            #expect(try await ask(port, "GET /readyz", token: Self.token).contains("readiness(withDetails: true)"))
            for line in ["GET /metrics", "GET /api/devices", "POST /api/reload", "GET /api/nothing", "PUT /api/reload"]
            {
                for token in [nil, "x" + Self.token, ""] {
                    let answer = try await ask(port, line, token: token)
                    #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(line)")
                    #expect(answer.lowercased().contains("www-authenticate: bearer"))
                    #expect(answer.contains("\r\n\r\n{\"error\":\"expected the header Authorization"))
                }
            }
            #expect(try await ask(port, "POST /api/reload", token: Self.token).contains("{\"call\":\"reload\"}"))
            #expect(try await ask(port, "GET /api/nothing", token: Self.token).hasPrefix("HTTP/1.1 404 "))
            let wrong = try await ask(port, "PUT /api/reload", token: Self.token)
            #expect(wrong.hasPrefix("HTTP/1.1 405 ") && wrong.lowercased().contains("allow: post"))
        }
        #expect(
            backend.calls.withLock { $0 } == [
                .health, .readiness(withDetails: false), .readiness(withDetails: true), .reload,
            ]
        )
    }

    @Test func metricsCanBeOpen() async throws {
        try await run(Self.configuration { $0.openMetrics = true }) { port in
            let answer = try await ask(port, "GET /metrics")
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            #expect(answer.lowercased().contains("content-type: text/plain; version=0.0.4; charset=utf-8"))
            #expect(try await ask(port, "GET /api/devices").hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func headHasNoBody() async throws {
        try await run { port in
            let answer = try await ask(port, "HEAD /healthz")
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func strangersAreSlowedDownAndTheTokenIsNot() async throws {
        try await run(Self.configuration { $0.limits.strangersBurst = 2 }) { port in
            for _ in 0..<2 { #expect(try await ask(port, "GET /metrics").hasPrefix("HTTP/1.1 401 ")) }
            let refused = try await ask(port, "GET /api/devices", token: "wrong-wrong-wrong")
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.lowercased().contains("retry-after: 1"))
            #expect(try await ask(port, "GET /healthz", token: Self.token).hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func whatWatchesUsIsAnsweredWhateverStrangersDo() async throws {
        try await run(Self.configuration { $0.limits.strangersBurst = 2 }) { port in
            for _ in 0..<3 { _ = try await ask(port, "GET /api/devices", token: "wrong-wrong-wrong") }
            #expect(try await ask(port, "GET /metrics").hasPrefix("HTTP/1.1 429 "))
            for line in ["GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz?from=proxy"] {
                for _ in 0..<5 { #expect(try await ask(port, line).hasPrefix("HTTP/1.1 200 "), "\(line)") }
            }
            #expect(try await ask(port, "GET /healthz", token: "wrong-wrong-wrong").hasPrefix("HTTP/1.1 200 "))
            // It would tell whether a token is right, as often as anybody likes.
            #expect(try await ask(port, "GET /readyz", token: "wrong-wrong-wrong").hasPrefix("HTTP/1.1 429 "))
            #expect(try await ask(port, "GET /readyz", token: Self.token).contains("withDetails: true"))
        }
    }

    @Test func aConnectionTooManyIsClosedAtOnce() async throws {
        try await run(Self.configuration { $0.limits.connections = 1 }) { port in
            let first = try await RawConnection(port: port)
            await first.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await first.status() == 200)
            #expect(try await ask(port, "GET /healthz").isEmpty)
            await first.close()
        }
    }

    @Test func whoIsSlowWithAHeaderOrABodyIsCutOff() async throws {
        let configuration = Self.configuration {
            $0.limits.idleTimeout = .seconds(1)
            $0.limits.bodyTimeout = .seconds(1)
        }
        try await run(configuration) { port in
            let slow = try await RawConnection(port: port)
            await slow.send("GET /healthz HTTP/1.1\r\nHost:")
            #expect(await !slow.rest().hasPrefix("HTTP/1.1 200 "))
            let body = try await RawConnection(port: port)
            await body.send("POST /api/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfive!")
            #expect(await !body.rest().hasPrefix("HTTP/1.1 200 "))
        }
        #expect(backend.calls.withLock { $0 }.isEmpty)
    }

    @Test func tooLongABodyEndsTheConnection() async throws {
        try await run(Self.configuration { $0.limits.bodyBytes = ByteCount(10) }) { port in
            let answer = try await ask(
                port,
                "POST /api/reload",
                token: Self.token,
                "Content-Length: 11\r\n",
                "hello world"
            )
            #expect(!answer.hasPrefix("HTTP/1.1 200 "))
        }
        #expect(backend.calls.withLock { $0 }.isEmpty)
    }
}
