import CommandTestSupport
import Core
import Testing

@testable import HTTPClient

/// Against an HTTP/1.1 server, and nghttpd over TLS, on the loopback.
struct CurlOnTheWireTests {
    private func request(
        _ port: Int,
        _ path: String = "/echo",
        host: String = "localhost",
        timeout: Duration = .seconds(20)
    ) -> HTTPRequest {
        HTTPRequest(method: "GET", url: "http://\(host):\(port)\(path)", timeout: timeout)
    }

    @Test func methodHeadersAndBodyArriveUnchanged() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        var post = request(server.port)
        post.method = "PUT"
        post.headers = [HTTPField("x-test", "one"), HTTPField("x-test", ""), HTTPField("content-length", "9999")]
        post.body = [0x00, 0xff, 0x0a]
        let answer = try await lanes.answer(to: post).get()
        #expect(answer.status == 200)
        #expect(answer.body == Array("PUT one, ".utf8) + [0x00, 0xff, 0x0a])
        let names = answer.headers.first { $0.name == "x-names" }?.value.lowercased()
        #expect(names == "content-length host x-test x-test")
        await lanes.shutdown()
        await server.stop()
    }

    @Test(arguments: ["GET", "POST", "DELETE", "HEAD"])
    func everyMethodWorksWithoutABody(_ method: String) async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        var bare = request(server.port)
        bare.method = method
        let answer = try await lanes.answer(to: bare).get()
        #expect(answer.status == 200)
        #expect(answer.body == (method == "HEAD" ? [] : Array("\(method)  ".utf8)))
        await lanes.shutdown()
        await server.stop()
    }

    @Test func aConnectionIsUsedAgain() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        for _ in 0..<5 { #expect(try await lanes.answer(to: request(server.port)).get().status == 200) }
        #expect(server.connections == 1)
        await lanes.shutdown()
        await server.stop()
    }

    /// libcurl would repeat it over another connection, although it may have been processed.
    @Test(arguments: [true, false])
    func aConnectionThatEndsUnderARequestEndsTheRequest(_ isGuarded: Bool) async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests(HTTPLanes.Configuration(allowPrivate: ["127.0.0.0/8", "::1/128"]))
        var first = request(server.port)
        first.untrustedURL = isGuarded
        #expect(try await lanes.answer(to: first).get().status == 200)
        var post = request(server.port, "/close")
        post.method = "POST"
        post.body = [1, 2, 3]
        post.untrustedURL = isGuarded
        let failure = await lanes.answer(to: post)
        #expect(failure == .failure(HTTPError(.closed, mayHaveBeenProcessed: true)))
        #expect(server.paths == ["/echo", "/close"])
        await lanes.shutdown()
        await server.stop()
    }

    @Test func redirectIsNotFollowed() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        #expect(try await lanes.answer(to: request(server.port, "/redirect")).get().status == 302)
        #expect(server.paths == ["/redirect"])
        await lanes.shutdown()
        await server.stop()
    }

    @Test func aBodyIsCutOffAtItsLimit() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        var big = request(server.port, "/big")
        big.maxResponseBytes = ByteCount(1_000)
        #expect(try await lanes.answer(to: big).get().body == [UInt8](repeating: 0x62, count: 1_000))
        big.maxResponseBytes = ByteCount(1_000_000)
        #expect(try await lanes.answer(to: big).get().body.count == 1_000_000)
        await lanes.shutdown()
        await server.stop()
    }

    /// Each chunk's length has a comment, which libcurl skips.
    @Test func responseMuchLongerThanItsContentIsAborted() async throws {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;"
        let server = try await TalkativeServer(answer: head + String(repeating: "x", count: 1_000_000))
        let lanes = try HTTPLanes.forTests()
        let request = HTTPRequest(method: "GET", url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(60))
        #expect(await lanes.failure(of: request) == HTTPError(.protocolError, mayHaveBeenProcessed: true))
        await lanes.shutdown()
        await server.stop()
    }

    @Test func silentServerTimesOutTheRequest() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        let failure = await lanes.failure(of: request(server.port, "/silent", timeout: .milliseconds(30)))
        #expect(failure?.reason == .timeout)
        await lanes.shutdown()
        await server.stop()
    }

    @Test func aServerThatHangsUpLeavesTheRequestInDoubt() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        for path in ["/close", "/half"] {
            #expect(
                await lanes.failure(of: request(server.port, path)) == HTTPError(.closed, mayHaveBeenProcessed: true)
            )
        }
        await lanes.shutdown()
        await server.stop()
    }

    @Test func closedPortAndUnknownNameAreDistinguished() async throws {
        let server = try await PlainServer()
        await server.stop()
        var configuration = HTTPLanes.Configuration()
        // As long as a resolver may take if its server does not respond.
        configuration.lanes.connectTimeout = .seconds(50)
        let lanes = try HTTPLanes.forTests(configuration)
        #expect(
            await lanes.failure(of: request(server.port)) == HTTPError(.unreachable, mayHaveBeenProcessed: false)
        )
        #expect(
            await lanes.failure(of: request(80, host: "nowhere.invalid", timeout: .seconds(60)))
                == HTTPError(.unresolved, mayHaveBeenProcessed: false)
        )
        await lanes.shutdown()
    }

    @Test func usersNameThatResolvesToLoopbackIsRefusedUnlessAllowed() async throws {
        let server = try await PlainServer()
        let forbidden = HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false)
        let strict = try HTTPLanes.forTests()
        var fromUser = request(server.port)
        fromUser.untrustedURL = true
        #expect(await strict.failure(of: fromUser) == forbidden)
        #expect(server.connections == 0)
        // The operator's own request leaves a connection, which a user's must not reuse.
        #expect(try await strict.answer(to: request(server.port)).get().status == 200)
        #expect(await strict.failure(of: fromUser) == forbidden)
        #expect(server.paths.count == 1)
        fromUser.url = "http://127.0.0.1:\(server.port)/echo"
        #expect(await strict.failure(of: fromUser) == forbidden)
        await strict.shutdown()

        let lenient = try HTTPLanes.forTests(.init(allowPrivate: ["127.0.0.1/32"]))
        #expect(try await lenient.answer(to: fromUser).get().status == 200)
        fromUser.url = "http://localhost:\(server.port)/echo"
        #expect(try await lenient.answer(to: fromUser).get().status == 200)
        await lenient.shutdown()
        await server.stop()
    }

    @Test(arguments: [
        "file:///etc/passwd", "http://a:b@localhost/", "ftp://localhost/", "http://2130706433/", "localhost",
    ])
    func aURLOfAnotherKindIsRefused(_ url: String) async throws {
        let lanes = try HTTPLanes.forTests()
        let failure = await lanes.failure(of: HTTPRequest(method: "GET", url: url))
        #expect(failure == HTTPError(.invalidURL, mayHaveBeenProcessed: false))
        await lanes.shutdown()
    }

    @Test(arguments: [
        ("x\r\ny", "1"), ("x", "1\r\ny: 2"), ("x", "1\n"), ("x y", "1"), ("", "1"), ("x:", "1"), ("X", "1"),
    ])
    func headerInjectionIsRefused(_ name: String, _ value: String) async throws {
        let lanes = try HTTPLanes.forTests()
        let request = HTTPRequest(method: "GET", url: "http://localhost/", headers: [HTTPField(name, value)])
        #expect(await lanes.failure(of: request) == HTTPError(.protocolError, mayHaveBeenProcessed: false))
        await lanes.shutdown()
    }

    @Test func httpsNeedsACertificateThatIsTrusted() async throws {
        let server = try await Nghttpd()
        let caFile = try TestCertificate.shared.get().certificateFile
        var post = HTTPRequest(method: "POST", url: "https://localhost:\(server.port)/", body: [1, 2, 3])
        let trusting = try HTTPLanes.forTests(.init(caFile: caFile))
        #expect(try await trusting.answer(to: post).get().body == [1, 2, 3])
        await trusting.shutdown()
        let strict = try HTTPLanes.forTests()
        post.multiplexed = false
        #expect(await strict.failure(of: post) == HTTPError(.tlsUntrusted, mayHaveBeenProcessed: false))
        await strict.shutdown()
    }

    @Test func requestsBeyondTheLimitAreRefusedAndShutdownFailsTheRest() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests(.init(curl: CurlLimits(requests: 4)))
        let answers = Answers()
        await withCheckedContinuation { refused in
            for number in 1...3 {
                lanes.send(request(server.port, "/silent")) { result in
                    answers.record(number, result)
                    if number == 3 { refused.resume() }
                }
            }
        }
        #expect(answers.failure(3) == HTTPError(.overloaded, mayHaveBeenProcessed: false))
        await lanes.shutdown()
        #expect(answers.failure(1)?.reason == .shutdown)
        #expect(answers.failure(2)?.reason == .shutdown)
        #expect(answers.count == 3)
        await server.stop()
    }

    @Test func aProxyCarriesEverything() async throws {
        let proxy = try await PlainServer()
        let lanes = try HTTPLanes.forTests(.init(proxy: "http://127.0.0.1:\(proxy.port)"))
        let answer = try await lanes.answer(to: HTTPRequest(method: "GET", url: "http://push.invalid/up?x=1")).get()
        #expect(answer.status == 200)
        #expect(proxy.paths == ["http://push.invalid/up?x=1"])
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func invalidConfigurationNamesTheExpectedValue() {
        let error = #expect(throws: HTTPLanesError.self) { try HTTPLanes.forTests(.init(allowPrivate: ["10.0.0.1/8"])) }
        #expect(error?.description.contains("10.1.2.0/24") == true)
        #expect(throws: HTTPLanesError.self) { try HTTPLanes.forTests(.init(caFile: "/nowhere.pem")) }
    }
}
