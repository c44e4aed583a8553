import CommandTestSupport
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import HTTPClient

/// Requests through a proxy on the loopback.
@Suite(.timeLimit(.minutes(2))) struct ProxyOnTheWireTests {
    private let caFile: String

    init() throws {
        caFile = try TestCertificate.shared.get().certificateFile
    }

    private func request(_ url: String = "https://localhost:9/3/device/1", isUntrusted: Bool = false) -> HTTPRequest {
        HTTPRequest(
            method: "POST",
            url: url,
            body: Array("hello".utf8),
            timeout: .seconds(20),
            multiplexed: true,
            untrustedURL: isUntrusted
        )
    }

    @Test func lanesUseTheProxyByCONNECT() async throws {
        let server = try await Nghttpd()
        let proxy = try await TunnelServer(.leads(to: server.port))
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile, proxy: "http://127.0.0.1:\(proxy.port)"))
        for _ in 0..<3 { #expect(try await lanes.answer(to: request()).get().body == Array("hello".utf8)) }
        #expect(proxy.heads == ["CONNECT localhost:9 HTTP/1.1\r\nhost: localhost:9\r\n\r\n"])
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func aProxyThatWantsAPasswordGetsIt() async throws {
        let server = try await Nghttpd()
        let proxy = try await TunnelServer(.leads(to: server.port))
        let url = "http://aladdin:open%20sesame@127.0.0.1:\(proxy.port)"
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile, proxy: url))
        #expect(try await lanes.answer(to: request()).get().status == 200)
        #expect(proxy.heads.first?.contains("proxy-authorization: Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n") == true)
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func proxyResolvesUsersNamesAndAddressesAreChecked() async throws {
        let server = try await Nghttpd()
        let proxy = try await TunnelServer(.leads(to: server.port))
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile, proxy: "http://127.0.0.1:\(proxy.port)"))
        #expect(try await lanes.answer(to: request(isUntrusted: true)).get().status == 200)
        #expect(
            await lanes.failure(of: request("https://127.0.0.1:9/", isUntrusted: true))
                == HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false)
        )
        #expect(proxy.heads.count == 1)
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func anIPv6AddressStandsInBrackets() async throws {
        let proxy = try await TunnelServer(.says("HTTP/1.1 503 Nowhere\r\ncontent-length: 0\r\n\r\n"))
        let lanes = try HTTPLanes.forTests(.init(proxy: "http://127.0.0.1:\(proxy.port)"))
        #expect(await lanes.failure(of: request("https://[2001:db8::1]/"))?.reason == .unreachable)
        #expect(proxy.heads.first?.hasPrefix("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n") == true)
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test(arguments: [
        "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nno!",
        "this is no HTTP at all\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n this is no TLS at all",
    ])
    func proxyThatRefusesIsAnUnreachableServer(_ answer: String) async throws {
        let proxy = try await TunnelServer(.says(answer))
        let lanes = try HTTPLanes.forTests(.init(proxy: "http://127.0.0.1:\(proxy.port)"))
        let failure = await lanes.failure(of: request())
        #expect(failure?.reason == .unreachable || failure?.reason == .tls)
        #expect(failure?.mayHaveBeenProcessed == false)
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func silentProxyTimesOutAndLeavesNoConnectionOpen() async throws {
        let proxy = try await TunnelServer(.isSilent)
        var configuration = HTTPLanes.Configuration(proxy: "http://127.0.0.1:\(proxy.port)")
        configuration.lanes.connectTimeout = .milliseconds(100)
        let lanes = try HTTPLanes.forTests(configuration)
        #expect(await lanes.failure(of: request()) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        while proxy.connections > 0 { try await Task.sleep(for: .milliseconds(1)) }
        await lanes.shutdown()
        await proxy.stop()
    }

    @Test func libcurlUsesTheProxyToo() async throws {
        let server = try await PlainServer(isSecure: true)
        let proxy = try await TunnelServer(.leads(to: server.port))
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile, proxy: "http://127.0.0.1:\(proxy.port)"))
        // The server chooses HTTP/1.1, so libcurl repeats the request.
        #expect(try await lanes.answer(to: request()).get().body == Array("POST  hello".utf8))
        #expect(proxy.heads.count == 2)
        #expect(proxy.heads.allSatisfy { $0.hasPrefix("CONNECT localhost:9 ") })
        await lanes.shutdown()
        await proxy.stop()
        await server.stop()
    }

    @Test func noPasswordIsLogged() async throws {
        let lines = NIOLockedValueBox<[String]>([])
        var logger = Logger(label: "proxy") { _ in Recorder(lines: lines) }
        logger.logLevel = .trace
        let proxy = try await TunnelServer(.says("HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"))
        let lanes = try HTTPLanes(
            configuration: .init(proxy: "http://aladdin:sesame@127.0.0.1:\(proxy.port)"),
            group: .singletonMultiThreadedEventLoopGroup,
            logger: logger
        )
        #expect(await lanes.failure(of: request())?.reason == .unreachable)
        #expect(lines.withLockedValue { $0 }.contains { $0.contains("the proxy rejects the credentials") })
        let all = lines.withLockedValue { $0.joined() }
        #expect(!all.contains("sesame") && !all.contains("YWxhZGRpbj"))
        await lanes.shutdown()
        await proxy.stop()
    }

    private struct Recorder: LogHandler {
        let lines: NIOLockedValueBox<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.withLockedValue { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
