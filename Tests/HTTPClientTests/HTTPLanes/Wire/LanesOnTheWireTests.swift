import CommandTestSupport
import Core
import NIOCore
import Testing

@testable import HTTPClient

/// Against nghttpd over TLS on the loopback.
struct LanesOnTheWireTests {
    private let caFile: String

    init() throws {
        caFile = try TestCertificate.shared.get().certificateFile
    }

    private func request(
        _ port: Int,
        body: [UInt8] = [],
        host: String = "localhost",
        isUntrusted: Bool = false
    ) -> HTTPRequest {
        HTTPRequest(
            method: "POST",
            url: "https://\(host):\(port)/3/device/1",
            body: body,
            timeout: .seconds(20),
            multiplexed: true,
            untrustedURL: isUntrusted
        )
    }

    @Test func concurrentRequestsGetTheirOwnBodies() async throws {
        let server = try await Nghttpd("-m", "50")
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                group.addTask {
                    let body = Array("notification \(number)".utf8)
                    let answer = await lanes.answer(to: request(server.port, body: body))
                    #expect((try? answer.get())?.status == 200)
                    #expect((try? answer.get())?.body == body)
                }
            }
        }
        await lanes.shutdown()
    }

    /// libcurl carries the operator's first two requests; a user's host could keep it busy.
    @Test func busyOriginGetsSeparateOperatorAndUserConnections() async throws {
        let server = try await Nghttpd()
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile, allowPrivate: ["127.0.0.0/8"]))
        var request = request(server.port)
        request.multiplexed = false
        for own in [0, 0, 1, 1] {
            #expect(try await lanes.answer(to: request).get().status == 200)
            #expect(await lanes.snapshot().origins.values.reduce(0) { $0 + $1.connections } == own)
        }
        request.untrustedURL = true
        #expect(try await lanes.answer(to: request).get().status == 200)
        #expect(await lanes.snapshot().users.connections == 1)
        await lanes.shutdown()
    }

    @Test func aBodyBeyondTheWindowsArrives() async throws {
        let server = try await Nghttpd()
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        let body = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var large = request(server.port, body: body)
        large.maxResponseBytes = ByteCount(1_000_000)
        #expect(try await lanes.answer(to: large).get().body == body)
        await lanes.shutdown()
    }

    @Test func certificateOfAnUnknownAuthorityIsRefused() async throws {
        let server = try await Nghttpd()
        let lanes = try HTTPLanes.forTests()
        #expect(
            await lanes.failure(of: request(server.port)) == HTTPError(.tlsUntrusted, mayHaveBeenProcessed: false)
        )
        await lanes.shutdown()
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        let server = try await Nghttpd()
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        #expect(try await lanes.answer(to: request(server.port, host: "127.0.0.1")).get().status == 200)
        let other = try await Nghttpd(address: "127.0.0.2")
        let failure = await lanes.failure(of: request(other.port, host: "127.0.0.2"))
        #expect(failure == HTTPError(.tlsName, mayHaveBeenProcessed: false))
        await lanes.shutdown()
    }

    @Test func serverWithoutHTTP2IsReached() async throws {
        let server = try await PlainServer(isSecure: true)
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        for _ in 0..<3 {
            let answer = try await lanes.answer(to: request(server.port, body: Array("x".utf8))).get()
            #expect(answer.status == 200)
            #expect(answer.body == Array("POST  x".utf8))
        }
        #expect(server.paths.count == 3)
        await lanes.shutdown()
        await server.stop()
    }

    @Test func usersNameThatResolvesToLoopbackIsRefusedUnlessAllowed() async throws {
        let server = try await Nghttpd()
        let strict = try HTTPLanes.forTests(.init(caFile: caFile))
        let forbidden = HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false)
        #expect(try await strict.answer(to: request(server.port)).get().status == 200)
        #expect(await strict.failure(of: request(server.port, isUntrusted: true)) == forbidden)
        #expect(await strict.failure(of: request(server.port, host: "127.0.0.1", isUntrusted: true)) == forbidden)
        await strict.shutdown()

        let lenient = try HTTPLanes.forTests(.init(caFile: caFile, allowPrivate: ["127.0.0.0/8"]))
        #expect(try await lenient.answer(to: request(server.port, isUntrusted: true)).get().status == 200)
        await lenient.shutdown()
    }

    @Test func closedPortAndUnknownNameAreDistinguished() async throws {
        let server = try await PlainServer()
        await server.stop()
        let names = ThreadedLookup { host, port in
            host == "localhost" ? (try? SocketAddress(ipAddress: "127.0.0.1", port: port)).map { [$0] } ?? [] : []
        }
        let lanes = try HTTPLanes.forTests(names: NameLookups(operators: names.lookUp, users: names.lookUp))
        #expect(await lanes.failure(of: request(server.port))?.reason == .unreachable)
        #expect(await lanes.failure(of: request(443, host: "nowhere.invalid"))?.reason == .unresolved)
        await lanes.shutdown()
    }

    @Test func requestsAfterShutdownFailImmediately() async throws {
        let lanes = try HTTPLanes.forTests()
        await lanes.shutdown()
        #expect(await lanes.failure(of: request(443))?.reason == .shutdown)
        #expect(await lanes.failure(of: HTTPRequest(method: "GET", url: "http://localhost/"))?.reason == .shutdown)
    }
}
