import Core
import Listeners
import ListeningTestSupport
import Logging
import NIOPosix
import Synchronization
import Testing
import TimeTestSupport

@testable import Console

/// Requests from outside for plugins, on a real server.
@Suite(.timeLimit(.minutes(1)))
struct InboundTests {
    private final class Backend: Sendable {
        let calls = Mutex<[InboundCall]>([])

        func receive(_ call: InboundCall) async -> InboundReply? {
            calls.withLock { $0.append(call) }
            guard call.platform == "bot", call.app == "my app" else { return nil }
            if call.path == "/nothing" { return InboundReply(status: 204) }
            return InboundReply(status: 201, headers: [("x-one", "1")], body: Array("taken".utf8))
        }
    }

    private let backend = Backend()

    private func run(
        _ limits: InboundConfiguration.Limits = InboundConfiguration.Limits(),
        _ body: (Int) async throws -> Void
    ) async throws {
        var inbound = InboundConfiguration(publicURL: "https://push.example.com")
        inbound.isTrustedProxy = { $0 == "127.0.0.1" }
        inbound.limits = limits
        inbound.receive = backend.receive
        var configuration = ConsoleConfiguration()
        configuration.port = 0
        configuration.inbound = inbound
        let server = HTTPServer(
            configuration: configuration,
            authenticator: { _, _ in nil },
            endpoints: [],
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

    private func ask(
        _ port: Int,
        _ line: String,
        _ fields: String = "",
        _ body: String = ""
    ) async throws -> String {
        let connection = try await RawConnection(port: port)
        await connection.send(
            "\(line) HTTP/1.1\r\nHost: push.example.com\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
        )
        return await connection.rest()
    }

    @Test func aRequestReachesItsPluginAndIsAnswered() async throws {
        try await run { port in
            let answer = try await ask(
                port,
                "POST /plugins/bot/my%20app/hook/%C3%A4?a=1&b",
                "X-Signature: v1\r\nCookie: secret=1\r\nX-Forwarded-For: 192.0.2.7\r\n",
                "hello"
            )
            #expect(answer.hasPrefix("HTTP/1.1 201 ") && answer.contains("\r\nx-one: 1\r\n"))
            #expect(answer.hasSuffix("\r\n\r\ntaken") && answer.lowercased().contains("content-length: 5"))
            let nothing = try await ask(port, "GET /plugins/bot/my%20app/nothing")
            #expect(nothing.hasPrefix("HTTP/1.1 204 ") && !nothing.lowercased().contains("content-length"))
            let head = try await ask(port, "HEAD /plugins/bot/my%20app")
            #expect(head.hasPrefix("HTTP/1.1 201 ") && head.hasSuffix("\r\n\r\n"))
        }
        let call = try #require(backend.calls.withLock { $0 }.first)
        #expect((call.platform, call.app, call.method) == ("bot", "my app", "POST"))
        #expect((call.path, call.query) == ("/hook/%C3%A4", "a=1&b") && call.body == Array("hello".utf8))
        let names = call.headers.map(\.name)
        #expect(names.contains("x-signature") && names.contains("host") && !names.contains("cookie"))
        #expect(names.allSatisfy { $0 == $0.lowercased() })
    }

    /// All invalid paths get the same response.
    @Test func unknownPathsAllGetTheSame404() async throws {
        try await run { port in
            let paths = ["bot/other", "other/my%20app/x", "bot", "", "bot/", "bot/%zz", "bot/%ff/x", "/x", "bot?a=my"]
            let answers = try await paths.mapEach { try await ask(port, "GET /plugins/\($0)") }
            #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 404 ") && $0.hasSuffix("\r\n\r\n") })
            #expect(Set(answers.map { $0.split(separator: "\r\n").count }).count == 1)
            #expect(try await ask(port, "GET /plugins").hasPrefix("HTTP/1.1 404 "))
            // The API's own paths are unchanged.
            #expect(try await ask(port, "GET /pluginsx").contains("\"status\":404,\"detail\":"))
            #expect(try await ask(port, "GET /v1/plugins").hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func clientThatExceedsTheLimitWaits() async throws {
        var limits = InboundConfiguration.Limits()
        limits.clientBurst = 2
        limits.instanceBurst = 4
        try await run(limits) { port in
            func status(_ client: String, _ app: String = "my%20app") async throws -> Substring {
                try await ask(port, "GET /plugins/bot/\(app)", "X-Forwarded-For: \(client)\r\n").dropFirst(9).prefix(3)
            }
            #expect(
                try await [status("192.0.2.1"), status("192.0.2.1"), status("192.0.2.1")] == ["201", "201", "429"]
            )
            #expect(try await status("192.0.2.2") == "201")
            // Without the header, the client is this machine, which may be a proxy.
            #expect(try await ask(port, "GET /plugins/bot/my%20app").hasPrefix("HTTP/1.1 201 "))
            let refused = try await ask(port, "GET /plugins/bot/my%20app")
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.lowercased().contains("retry-after: 1"))
            #expect(try await status("192.0.2.3", "other") == "404")
        }
        #expect(backend.calls.withLock { $0 }.count == 5)
    }

    @Test func aBodyHasALimit() async throws {
        var limits = InboundConfiguration.Limits()
        limits.bodyBytes = ByteCount(8)
        limits.readBytes = ByteCount(16)
        try await run(limits) { port in
            let line = "POST /plugins/bot/my%20app"
            let taken = try await ask(port, line, "", "8 bytes.")
            #expect(taken.hasPrefix("HTTP/1.1 201 "))
            let tooLong = try await ask(port, line, "", "more than 8")
            #expect(tooLong.hasPrefix("HTTP/1.1 413 "))
            let muchTooLong = try await ask(port, line, "", "much more than 16")
            #expect(!muchTooLong.hasPrefix("HTTP/1.1 2"))
        }
        #expect(backend.calls.withLock { $0 }.count == 1)
    }

    @Test func pluginPathsAre404WithoutAPublicURL() async throws {
        var configuration = ConsoleConfiguration()
        configuration.port = 0
        let server = HTTPServer(
            configuration: configuration,
            authenticator: { _, _ in nil },
            endpoints: [],
            loop: MultiThreadedEventLoopGroup.singleton.next(),
            now: { 1_000 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let port = try await server.start()
        #expect(try await ask(port, "GET /plugins/bot/my%20app").hasPrefix("HTTP/1.1 404 "))
        #expect(backend.calls.withLock { $0 }.isEmpty)
        await server.stop(within: .zero)
    }

    @Test func instanceURLReachesItsInstance() throws {
        let url = InboundCall.url(publicURL: "https://push.example.com/x", platform: "bot", app: "a/b ä")
        #expect(url == "https://push.example.com/x/plugins/bot/a%2Fb%20%C3%A4")
        let call = try #require(InboundCall(method: "GET", target: String(url.dropFirst(26))))
        #expect((call.platform, call.app, call.path, call.query) == ("bot", "a/b ä", "", ""))
    }
}

extension Sequence {
    fileprivate func mapEach<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
