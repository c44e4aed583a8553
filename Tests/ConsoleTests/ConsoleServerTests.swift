import Core
import Foundation
import Listeners
import ListeningTestSupport
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TimeTestSupport

@testable import Console

/// A real server on a port that the system assigns, with a client that writes bytes.
@Suite(.timeLimit(.minutes(1)))
struct ConsoleServerTests {
    private static let token = "0123456789abcdef0123456789"

    /// Knows a token for everything, one for reading, and accepts `Nostr a` as an owner.
    @Sendable private static func principal(
        of head: APIRequestHead,
        for access: APIAccess
    ) throws(APIError) -> APIPrincipal? {
        if head.credentials("nostr") == "bad" { throw APIError(401, "this proves nothing") }
        if let key = head.credentials("nostr"), access == .owner { return .owner(key) }
        return switch head.credentials("bearer") {
        case token: .agent("all", Set(APIScope.allCases))
        case "reader": .agent("reader", [.read])
        default: nil
        }
    }

    private final class Calls: Sendable {
        let all = Mutex<[String]>([])
        /// Used by the endpoint that waits for its release.
        let entered = AsyncStream.makeStream(of: Void.self)
        let released = AsyncStream.makeStream(of: Void.self)
        let live = Parts()

        func endpoint(
            _ method: APIEndpoint.Method,
            _ path: String,
            for access: APIAccess,
            _ parameters: [APIParameter] = [],
            isProbe: Bool = false
        ) -> APIEndpoint {
            APIEndpoint(method, path, for: access, parameters, isProbe: isProbe) { call in
                self.all.withLock { $0.append("\(method.rawValue) \(path)") }
                let query = call.query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
                let words = [call.path("device"), query, String(buffer: call.body), call.field("x-thing") ?? ""]
                let who =
                    switch call.principal {
                    case .agent(let name, _)?: name
                    case .owner(let key)?: key
                    case nil: "nobody"
                    }
                return ConsoleAnswer(body: "{\"who\":\"\(who)\",\"what\":\"\(words.joined(separator: "|"))\"}\n")
            }
        }

        var endpoints: [APIEndpoint] {
            [
                endpoint(.get, "/healthz", for: .everybody, isProbe: true),
                endpoint(.get, "/readyz", for: .everybody, isProbe: true),
                endpoint(.get, "/v1/devices", for: .scope(.read), [.query("limit", .integer(1...9), "How many.")]),
                endpoint(
                    .delete,
                    "/v1/devices/{device}",
                    for: .scope(.operate),
                    [.path("device", .integer(1...9), "A number."), .header("x-thing", .text(3), "A thing.")]
                ),
                endpoint(.post, "/v1/reload", for: .scope(.operate)),
                endpoint(.get, "/v1/me", for: .owner),
                APIEndpoint(.get, "/v1/me/slow", for: .owner) { _ in
                    self.entered.continuation.yield()
                    for await _ in self.released.stream { break }
                    return ConsoleAnswer(body: "{}")
                },
                APIEndpoint(.get, "/v1/live", for: .scope(.read)) { _ in
                    ConsoleAnswer(live: self.live, contentType: "text/event-stream")
                },
                APIEndpoint(.get, "/v1/broken", for: .scope(.read)) { _ in throw Broken() },
                APIEndpoint(.post, "/v1/long", for: .scope(.send), body: APIBody(limit: ByteCount(20))) { call in
                    self.all.withLock { $0.append("long \(call.body.readableBytes)") }
                    return ConsoleAnswer(body: "{}")
                },
            ]
        }
    }

    private struct Broken: Error {}

    /// A response body whose parts the test provides.
    private final class Parts: LiveBody {
        private let parts = AsyncStream.makeStream(of: String.self)
        private let ends = AsyncStream.makeStream(of: Void.self)

        func give(_ part: String) { parts.continuation.yield(part) }

        func next() async -> ByteBuffer? {
            for await part in parts.stream { return ByteBuffer(string: part) }
            return nil
        }

        func end() {
            parts.continuation.finish()
            ends.continuation.yield()
        }

        /// Returns after a call of `end`.
        func ended() async {
            for await _ in ends.stream { break }
        }
    }

    /// Returns another time at each call.
    private final class RunningClock: Sendable {
        private let seconds = Mutex<Int64>(0)

        @Sendable func now() -> Timestamp {
            seconds.withLock { seconds in
                seconds += 11
                return Timestamp(seconds: seconds)
            }
        }
    }

    private let calls = Calls()

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
        _ further: [APIEndpoint] = [],
        on loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next(),
        _ body: (Int) async throws -> Void
    ) async throws {
        let server = HTTPServer(
            configuration: configuration,
            authenticator: Self.principal(of:for:),
            endpoints: calls.endpoints + further,
            loop: loop,
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

    /// Returns the whole response to a request, after which the connection ends.
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

    /// The client reads to the end of the connection.
    @Test func connectionOfHTTP10EndsWithTheResponse() async throws {
        try await run { port in
            let connection = try await RawConnection(port: port)
            await connection.send("GET /healthz HTTP/1.0\r\n\r\n")
            let response = await connection.rest()
            #expect(response.hasPrefix("HTTP/1.1 200 ") && response.lowercased().contains("\r\nconnection: close\r\n"))
            let lasting = try await RawConnection(port: port)
            await lasting.send("GET /healthz HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n")
            let responses = await lasting.rest().lowercased()
            #expect(responses.components(separatedBy: "http/1.1 200 ").count == 3)
            #expect(responses.contains("\r\nconnection: keep-alive\r\n"))
        }
    }

    @Test(arguments: ["", "Host: a\r\nHost: b\r\n"])
    func requestWithoutOneHostGetsAProblemDocument(fields: String) async throws {
        try await run { port in
            let connection = try await RawConnection(port: port)
            await connection.send("GET /healthz HTTP/1.1\r\n\(fields)\r\n")
            let response = await connection.rest()
            #expect(response.hasPrefix("HTTP/1.1 400 "))
            #expect(response.contains("application/problem+json") && response.contains("\"status\":400"))
            #expect(response.contains("expected exactly one Host header field"))
        }
    }

    /// Only the server marks rejected requests.
    @Test func clientCannotMarkItsRequest() async throws {
        try await run { port in
            let response = try await ask(port, "GET /healthz", "carillon-host-refused: 1\r\n")
            #expect(response.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func publicRoutesAreOpenAndOthersRequireAToken() async throws {
        try await run { port in
            #expect(try await ask(port, "GET /healthz").hasPrefix("HTTP/1.1 200 "))
            #expect(try await ask(port, "GET /readyz").contains("\"who\":\"nobody\""))
            #expect(try await ask(port, "GET /readyz", token: Self.token).contains("\"who\":\"all\""))
            for line in [
                "GET /v1/devices", "POST /v1/reload", "GET /v1/nothing", "PUT /v1/reload", "GET /v1/me",
                "DELETE /v1/devices/1", "GET /v1/devices?limit=none",
            ] {
                for token in [nil, "x" + Self.token, ""] {
                    let answer = try await ask(port, line, token: token)
                    #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(line)")
                    let scheme = line == "GET /v1/me" ? "nostr" : "bearer"
                    #expect(answer.lowercased().contains("www-authenticate: \(scheme)\r\n"))
                    #expect(answer.contains("expected the header Authorization"))
                }
            }
            #expect(try await ask(port, "POST /v1/reload", token: Self.token).contains("\"who\":\"all\""))
            #expect(try await ask(port, "GET /v1/nothing", token: Self.token).hasPrefix("HTTP/1.1 404 "))
            let wrong = try await ask(port, "PUT /v1/reload", token: Self.token)
            #expect(wrong.hasPrefix("HTTP/1.1 405 ") && wrong.lowercased().contains("allow: post"))
        }
        #expect(calls.all.withLock { $0 } == ["GET /healthz", "GET /readyz", "GET /readyz", "POST /v1/reload"])
    }

    @Test func scopeGrantsItsRoutes() async throws {
        try await run { port in
            #expect(try await ask(port, "GET /v1/devices", token: "reader").hasPrefix("HTTP/1.1 200 "))
            for line in ["POST /v1/reload", "DELETE /v1/devices/7"] {
                let refused = try await ask(port, line, token: "reader")
                #expect(refused.hasPrefix("HTTP/1.1 403 ") && refused.contains("operate"), "\(line)")
            }
            #expect(try await ask(port, "GET /v1/me", token: Self.token).hasPrefix("HTTP/1.1 403 "))
            let own = try await ask(port, "GET /v1/me", "Authorization: Nostr abc\r\n")
            #expect(own.hasPrefix("HTTP/1.1 200 ") && own.contains("\"who\":\"abc\""))
            #expect(try await ask(port, "GET /v1/me", "Authorization: Nostr bad\r\n").contains("this proves nothing"))
            #expect(try await ask(port, "GET /v1/devices", "Authorization: Nostr abc\r\n").hasPrefix("HTTP/1.1 401 "))
        }
        #expect(calls.all.withLock { $0 } == ["GET /v1/devices", "GET /v1/me"])
    }

    @Test func parametersAreCheckedByTheRouteTable() async throws {
        try await run { port in
            let good = try await ask(
                port,
                "DELETE /v1/devices/7",
                token: Self.token,
                "X-Thing: abc\r\nContent-Length: 2\r\n",
                "hi"
            )
            #expect(good.contains("\"what\":\"7||hi|abc\""))
            let refusals: [(line: String, status: Int, words: String)] = [
                ("GET /v1/devices?limit=10", 400, "limit: expected a number from 1 to 9"),
                ("GET /v1/devices?limti=1", 400, "limti: expected limit"),
                ("GET /v1/devices?limit=1&limit=2", 400, "each parameter once"),
                ("DELETE /v1/devices/x", 404, "device: expected a number"),
                ("DELETE /v1/devices/7?x=1", 400, "x: expected no parameters"),
            ]
            for refusal in refusals {
                let answer = try await ask(port, refusal.line, token: Self.token)
                let isAsExpected = answer.hasPrefix("HTTP/1.1 \(refusal.status) ") && answer.contains(refusal.words)
                #expect(isAsExpected, "\(refusal.line): \(answer)")
            }
            let thing = try await ask(port, "DELETE /v1/devices/7", token: Self.token, "X-Thing: abcd\r\n")
            #expect(thing.hasPrefix("HTTP/1.1 400 ") && thing.contains("x-thing: expected"))
        }
    }

    /// A page can translate the code.
    @Test func refusalsHaveACode() async throws {
        try await run { port in
            let answer = try await ask(port, "DELETE /v1/devices/7", token: "reader")
            #expect(answer.hasPrefix("HTTP/1.1 403 "))
            #expect(answer.contains("\"says\":{\"code\":\"scope\",\"values\":{\"scope\":\"operate\"}}"))
            #expect(try await !ask(port, "GET /v1/nothing", token: Self.token).contains("\"says\""))
        }
        let statement = Statement("x", ["b": "\"\n", "a": ""])
        #expect(statement.json == #"{"code":"x","values":{"a":"","b":"\"\n"}}"#)
    }

    @Test func errorsAreProblems() async throws {
        try await run { port in
            let answer = try await ask(port, "GET /v1/nothing", token: Self.token, "X-Request-Id: my-1\r\n")
            let parts = answer.split(separator: "\r\n\r\n")
            #expect(answer.lowercased().contains("content-type: application/problem+json"))
            #expect(answer.lowercased().contains("x-request-id: my-1"))
            let problem = try #require(
                JSONSerialization.jsonObject(with: Data((parts.last ?? "").utf8)) as? [String: Any]
            )
            #expect(problem["status"] as? Int == 404 && problem["title"] as? String == "Not Found")
            #expect(problem["request_id"] as? String == "my-1" && problem["type"] as? String == "about:blank")
            let odd = try await ask(port, "GET /v1/nothing", token: Self.token, "X-Request-Id: a b\"\r\n")
            #expect(!odd.contains("a b\"") && odd.lowercased().contains("x-request-id: "))
            let broken = try await ask(port, "GET /v1/broken", token: Self.token)
            #expect(broken.hasPrefix("HTTP/1.1 500 ") && !broken.contains("Broken"))
        }
    }

    @Test func unchangedResponseIsNotSentAgain() async throws {
        try await run { port in
            let first = try await ask(port, "GET /v1/devices", token: Self.token)
            let line = try #require(first.split(separator: "\r\n").first { $0.lowercased().hasPrefix("etag: ") })
            let tag = line.dropFirst(6)
            for value in [String(tag), "\"x\", W/\(tag)", "*"] {
                let again = try await ask(port, "GET /v1/devices", token: Self.token, "If-None-Match: \(value)\r\n")
                #expect(again.hasPrefix("HTTP/1.1 304 ") && again.hasSuffix("\r\n\r\n") && again.contains(tag))
            }
            let other = try await ask(port, "GET /v1/devices?limit=1", token: Self.token, "If-None-Match: \(tag)\r\n")
            #expect(other.hasPrefix("HTTP/1.1 200 "))
            // Unauthorized clients do not learn whether it changed.
            #expect(try await ask(port, "GET /v1/devices", "If-None-Match: \(tag)\r\n").hasPrefix("HTTP/1.1 401 "))
        }
    }

    @Test func liveBodyIsStreamed() async throws {
        try await run { port in
            let connection = try await RawConnection(port: port)
            await connection.send("GET /v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer reader\r\n\r\n")
            let head = try await connection.heads()[0].lowercased()
            #expect(head.contains("transfer-encoding: chunked") && head.contains("content-type: text/event-stream"))
            #expect(!head.contains("etag") && head.contains("cache-control: no-store"))
            calls.live.give("one")
            calls.live.give("two")
            calls.live.end()
            var text = ""
            while !text.hasSuffix("0\r\n\r\n") { text += try await connection.part() }
            #expect(text == "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
            // The connection continues with the next request.
            await connection.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.status() == 200)
            await connection.close()
        }
    }

    @Test func aLiveBodyEndsWithItsReader() async throws {
        try await run { port in
            let connection = try await RawConnection(port: port)
            await connection.send("GET /v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer reader\r\n\r\n")
            _ = try await connection.heads()
            await connection.close()
            await calls.live.ended()
        }
    }

    @Test func headRequestForALiveBodyHasNoBody() async throws {
        try await run { port in
            let head = try await ask(port, "HEAD /v1/live", token: "reader")
            #expect(head.hasPrefix("HTTP/1.1 200 ") && head.hasSuffix("\r\n\r\n"))
            await calls.live.ended()
        }
    }

    /// A token may be revoked while a client reads.
    @Test func streamOfARevokedTokenEnds() async throws {
        let asked = Mutex(0)
        let parts = Parts()
        let handler = ConsoleHandler(
            configuration: Self.configuration(),
            authenticator: { _, _ in
                asked.withLock { asked in
                    asked += 1
                    return asked <= 2 ? .agent("a", [.read]) : nil
                }
            },
            endpoints: [
                APIEndpoint(.get, "/v1/live", for: .scope(.read)) { _ in
                    ConsoleAnswer(live: parts, contentType: "text/event-stream")
                }
            ],
            now: RunningClock().now
        )
        let answer = await handler.answer(
            APIRequestHead(method: "GET", target: "/v1/live", authorization: ["Bearer x"], peer: "127.0.0.1")
        )
        guard case .live(let body) = answer.body else {
            Issue.record("expected a live body")
            return
        }
        for part in ["one", "two"] { parts.give(part) }
        #expect(await body.next() == ByteBuffer(string: "one"))
        #expect(await body.next() == nil)
        await parts.ended()
    }

    /// Brief endpoints need no other thread, even after a wait; slow ones do not hold up the loop.
    @Test func onlyBriefResponsesRunOnTheEventLoop() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        @Sendable func place() async -> ConsoleAnswer {
            let first = loop.inEventLoop
            await Task.yield()
            return ConsoleAnswer(body: "\(first) \(loop.inEventLoop)")
        }
        let endpoints = [
            APIEndpoint(.get, "/v1/brief", for: .everybody, isBrief: true) { _ in await place() },
            APIEndpoint(.get, "/v1/long", for: .everybody) { _ in await place() },
        ]
        try await run(Self.configuration(), endpoints, on: loop) { port in
            for (path, places) in [("brief", "true true"), ("long", "false false"), ("brief", "true true")] {
                let answer = try await ask(port, "GET /v1/\(path)")
                #expect(answer.hasSuffix("\r\n\r\n\(places)"), "\(path)")
            }
        }
    }

    @Test func headHasNoBody() async throws {
        try await run { port in
            let answer = try await ask(port, "HEAD /healthz")
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\n"))
        }
    }

    /// Pages of other sites get no CORS headers for reading, and no permission to send requests that need it.
    @Test func otherSitesGetNoCORSHeaders() async throws {
        try await run { port in
            let origin = "Origin: https://evil.example\r\n"
            for line in ["GET /v1/devices", "GET /healthz"] {
                let answer = try await ask(port, line, token: Self.token, origin)
                #expect(!answer.lowercased().contains("access-control-allow"))
            }
            let asked = try await ask(
                port,
                "OPTIONS /v1/devices/7",
                origin + "Access-Control-Request-Method: DELETE\r\nAccess-Control-Request-Headers: authorization\r\n"
            )
            #expect(asked.hasPrefix("HTTP/1.1 401 ") && !asked.lowercased().contains("access-control-allow"))
        }
        #expect(calls.all.withLock { $0 }.count == 2)
    }

    /// Web clients of users are such pages. Each request is signed, and browsers never add a signature automatically.
    @Test func ownersMayRequestFromAnyPage() async throws {
        try await run { port in
            let origin = "Origin: https://client.example\r\n"
            for field in ["Authorization: Nostr abc\r\n", "Authorization: Nostr bad\r\n", ""] {
                let answer = try await ask(port, "GET /v1/me", origin + field).lowercased()
                #expect(answer.contains("access-control-allow-origin: *"))
                #expect(!answer.contains("access-control-allow-credentials"))
            }
            let asked = try await ask(port, "OPTIONS /v1/me", origin + "Access-Control-Request-Method: GET\r\n")
            #expect(
                asked.hasPrefix("HTTP/1.1 204 ") && asked.lowercased().contains("access-control-allow-headers: auth")
            )
            #expect(asked.contains("GET, HEAD"))
        }
        #expect(calls.all.withLock { $0 } == ["GET /v1/me"])
    }

    @Test func unauthenticatedClientsAreLimitedAndTheTokenIsNot() async throws {
        try await run(Self.configuration { $0.limits.strangersBurst = 2 }) { port in
            for _ in 0..<2 { #expect(try await ask(port, "GET /v1/devices").hasPrefix("HTTP/1.1 401 ")) }
            let refused = try await ask(port, "GET /v1/devices", token: "wrong-wrong-wrong")
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.lowercased().contains("retry-after: 1"))
            // The server does not even check a proof.
            #expect(try await ask(port, "GET /v1/me", "Authorization: Nostr abc\r\n").hasPrefix("HTTP/1.1 429 "))
            #expect(try await ask(port, "GET /healthz", token: Self.token).hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func connectionSlotsAreReservedForOperators() async throws {
        try await run(Self.configuration { $0.limits.callsAtATime = 2 }) { port in
            let first = try await RawConnection(port: port)
            await first.send("GET /v1/me/slow HTTP/1.1\r\nHost: a\r\nAuthorization: Nostr abc\r\n\r\n")
            for await _ in calls.entered.stream { break }
            let second = try await ask(port, "GET /v1/me", "Authorization: Nostr abc\r\n")
            #expect(second.hasPrefix("HTTP/1.1 503 ") && second.lowercased().contains("retry-after: 1"))
            #expect(try await ask(port, "GET /v1/devices", token: Self.token).hasPrefix("HTTP/1.1 200 "))
            calls.released.continuation.yield()
            #expect(try await first.status() == 200)
            await first.close()
        }
    }

    @Test func tokenIsRateLimitedToo() async throws {
        try await run(Self.configuration { $0.limits.principalBurst = 2 }) { port in
            for _ in 0..<2 { #expect(try await ask(port, "GET /v1/devices", token: "reader").contains("200 OK")) }
            let refused = try await ask(port, "GET /v1/devices", token: "reader")
            #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.lowercased().contains("retry-after: 1"))
            #expect(try await ask(port, "GET /v1/devices", token: Self.token).contains("200 OK"))
        }
    }

    @Test func healthChecksAreServedDespiteUnauthenticatedClients() async throws {
        try await run(Self.configuration { $0.limits.strangersBurst = 2 }) { port in
            for _ in 0..<3 { _ = try await ask(port, "GET /v1/devices", token: "wrong-wrong-wrong") }
            #expect(try await ask(port, "GET /v1/devices").hasPrefix("HTTP/1.1 429 "))
            for line in ["GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz?from=proxy"] {
                for _ in 0..<5 { #expect(try await ask(port, line).hasPrefix("HTTP/1.1 200 "), "\(line)") }
            }
            #expect(try await ask(port, "GET /healthz", token: "wrong-wrong-wrong").hasPrefix("HTTP/1.1 200 "))
            // Otherwise, clients could test tokens without a limit.
            #expect(try await ask(port, "GET /readyz", token: "wrong-wrong-wrong").hasPrefix("HTTP/1.1 429 "))
            #expect(try await ask(port, "GET /readyz", token: Self.token).contains("\"who\":\"all\""))
        }
    }

    @Test func idleConnectionIsEvictedForANewOne() async throws {
        try await run(Self.configuration { $0.limits.connections = 1 }) { port in
            let first = try await RawConnection(port: port)
            await first.send("GET /v1/devices HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await first.status() == 401)
            #expect(try await ask(port, "GET /v1/devices", token: Self.token).hasPrefix("HTTP/1.1 200 "))
            // The connection ends.
            _ = await first.rest()
        }
    }

    @Test func silentConnectionsDoNotBlockOthers() async throws {
        try await run { port in
            var silent: [RawConnection] = []
            for number in 0..<120 {
                silent.append(try await RawConnection(port: port))
                // Partial headers or bodies do not count as requests.
                if number % 3 == 1 { await silent[number].send("GET /healthz HTTP/1.1\r\nHost:") }
                if number % 3 == 2 {
                    await silent[number].send("POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
                }
            }
            for line in ["GET /healthz", "GET /v1/devices"] {
                #expect(try await ask(port, line, token: Self.token).hasPrefix("HTTP/1.1 200 "))
            }
            for connection in silent { await connection.close() }
        }
    }

    @Test func healthIsAnsweredEvenIfEverySlotIsBusy() async throws {
        try await run(Self.configuration { $0.limits.connections = 1 }) { port in
            let slow = try await RawConnection(port: port)
            await slow.send("GET /v1/me/slow HTTP/1.1\r\nHost: a\r\nAuthorization: Nostr abc\r\n\r\n")
            for await _ in calls.entered.stream { break }
            let refused = try await ask(port, "GET /v1/devices", token: Self.token)
            #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.lowercased().contains("retry-after: 1"))
            for line in ["GET /healthz", "GET /readyz?from=proxy"] {
                #expect(try await ask(port, line).hasPrefix("HTTP/1.1 200 "), "\(line)")
            }
            // Silent connections do not keep health checks out of the reserve.
            var silent: [RawConnection] = []
            for _ in 0..<9 { silent.append(try await RawConnection(port: port)) }
            #expect(try await ask(port, "GET /healthz").hasPrefix("HTTP/1.1 200 "))
            calls.released.continuation.yield()
            #expect(try await slow.status() == 200)
            for connection in silent + [slow] { await connection.close() }
        }
    }

    @Test func slowHeaderOrBodyIsCutOff() async throws {
        let configuration = Self.configuration {
            $0.limits.idleTimeout = .seconds(1)
            $0.limits.bodyTimeout = .seconds(1)
        }
        try await run(configuration) { port in
            let slow = try await RawConnection(port: port)
            await slow.send("GET /healthz HTTP/1.1\r\nHost:")
            #expect(await !slow.rest().hasPrefix("HTTP/1.1 200 "))
            let body = try await RawConnection(port: port)
            await body.send("POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfive!")
            #expect(await !body.rest().hasPrefix("HTTP/1.1 200 "))
        }
        #expect(calls.all.withLock { $0 }.isEmpty)
    }

    @Test func authorizedClientsMaySendLongerBodies() async throws {
        func post(_ port: Int, _ token: String?, _ count: Int) async throws -> String {
            let body = String(repeating: "a", count: count)
            return try await ask(port, "POST /v1/long", token: token, "Content-Length: \(count)\r\n", body)
        }
        try await run(Self.configuration { $0.limits.bodyBytes = ByteCount(10) }) { port in
            #expect(try await post(port, Self.token, 20).hasPrefix("HTTP/1.1 200 "))
            let answer = try await post(port, Self.token, 21)
            #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("at most 20 bytes"))
            #expect(try await post(port, "reader", 20).hasPrefix("HTTP/1.1 403 "))
            #expect(try await post(port, nil, 20).hasPrefix("HTTP/1.1 401 "))
            // Those are counted like other strangers' requests.
            #expect(try await post(port, "wrong", 20).hasPrefix("HTTP/1.1 401 "))
        }
        #expect(calls.all.withLock { $0 } == ["long 20"])
        let none = Self.configuration { ($0.limits.bodyBytes, $0.limits.longBodiesAtATime) = (ByteCount(10), 0) }
        try await run(none) { port in
            let answers = [try await post(port, Self.token, 10), try await post(port, Self.token, 11)]
            #expect(answers[0].hasPrefix("HTTP/1.1 200 ") && answers[1].hasPrefix("HTTP/1.1 503 "))
        }
    }

    @Test func tooLongABodyIsRefusedAndTheConnectionEnds() async throws {
        try await run(Self.configuration { $0.limits.bodyBytes = ByteCount(10) }) { port in
            for target in ["/v1/reload", "/v1/devices", "/nothing"] {
                let answer = try await ask(
                    port,
                    "POST \(target)",
                    token: Self.token,
                    "Content-Length: 11\r\n",
                    "hello world"
                )
                #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("at most 10 bytes"))
                #expect(answer.lowercased().contains("connection: close"))
            }
        }
        #expect(calls.all.withLock { $0 }.isEmpty)
    }
}
