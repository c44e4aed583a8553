import CommandTestSupport
import Testing

@testable import HTTPClient

/// The effects of one exchange with a server on the next, and the short reasons for a server's errors.
struct ExchangesOnTheWireTests {
    private func request(_ server: TalkativeServer) -> HTTPRequest {
        HTTPRequest(method: "GET", url: "http://localhost:\(server.port)/", timeout: .seconds(20))
    }

    /// libcurl takes it for HTTP/0.9 and reports an unsupported protocol, like for a URL.
    @Test(arguments: ["hello there\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{16}\u{3}\u{1}"])
    func nonHTTPResponseIsNotAnInvalidURL(_ answer: String) async throws {
        let server = try await TalkativeServer(answer: answer)
        let lanes = try HTTPLanes.forTests()
        let failure = await lanes.failure(of: request(server))
        #expect(failure == HTTPError(.protocolError, mayHaveBeenProcessed: true))
        await lanes.shutdown()
        await server.stop()
    }

    @Test(arguments: [204, 304])
    func connectionIsClosedAfterABodylessResponse(_ status: Int) async throws {
        let server = try await TalkativeServer(answer: "HTTP/1.1 \(status) Nothing\r\n\r\n{\"id\":\"x\"}\n")
        let lanes = try HTTPLanes.forTests()
        for number in 1...3 {
            #expect(try await lanes.answer(to: request(server)).get().status == status)
            #expect(server.connections == number)
        }
        await lanes.shutdown()
        await server.stop()
    }

    /// Such bytes must not become the response to the next request: a 404 would remove another user's device.
    @Test(arguments: ["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "{\"id\":\"x\"}\n"])
    func dataBehindAResponseIsNotTheNextResponse(_ more: String) async throws {
        let server = try await TalkativeServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let lanes = try HTTPLanes.forTests()
        for _ in 1...2 { #expect(try await lanes.answer(to: request(server)).get().status == 200) }
        #expect(server.connections == 1)
        try await server.say(more)
        let answer = try await lanes.answer(to: request(server)).get()
        #expect(answer.status == 200 && answer.body == Array("ok".utf8))
        #expect(server.connections == 2)
        // That connection is as good as any.
        #expect(try await lanes.answer(to: request(server)).get().status == 200)
        #expect(server.connections == 2)
        await lanes.shutdown()
        await server.stop()
    }

    @Test(arguments: [false, true])
    func refusedCertificateNamesItsReason(_ isMultiplexed: Bool) async throws {
        let flaws: [(Result<TestCertificate, any Error>, isTrusted: Bool, HTTPError.Reason)] = [
            (TestCertificate.shared, false, .tlsUntrusted),
            (TestCertificate.forAnotherName, true, .tlsName),
            (TestCertificate.expired, true, .tlsExpired),
        ]
        for (certificate, isTrusted, reason) in flaws {
            let server = try await PlainServer(isSecure: true, certificate: certificate)
            let caFile = try certificate.get().certificateFile
            let lanes = try HTTPLanes.forTests(isTrusted ? .init(caFile: caFile) : .init())
            var request = HTTPRequest(method: "GET", url: "https://localhost:\(server.port)/", timeout: .seconds(20))
            request.multiplexed = isMultiplexed
            #expect(await lanes.failure(of: request) == HTTPError(reason, mayHaveBeenProcessed: false))
            await lanes.shutdown()
            await server.stop()
        }
    }
}
