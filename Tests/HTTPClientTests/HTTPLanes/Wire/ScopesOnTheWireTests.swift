import CommandTestSupport
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import HTTPClient

/// Separate connections by scope, certificates and addresses, against servers on the loopback.
@Suite(.timeLimit(.minutes(2))) struct ScopesOnTheWireTests {
    private let caFile: String
    private let certified: ConnectionScope

    init() throws {
        let files = try TestCertificate.shared.get()
        caFile = files.certificateFile
        certified = ConnectionScope(
            clientCertificate: try ClientCertificate(
                certificates: String(contentsOfFile: files.certificateFile, encoding: .utf8),
                key: String(contentsOfFile: files.keyFile, encoding: .utf8)
            )
        )
    }

    private func request(_ url: String, scope: ConnectionScope?, multiplexed: Bool = true) -> HTTPRequest {
        HTTPRequest(method: "POST", url: url, timeout: .seconds(20), multiplexed: multiplexed, scope: scope)
    }

    @Test func aLanePresentsItsScopesCertificate() async throws {
        let server = try await Nghttpd("--verify-client")
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        let url = "https://localhost:\(server.port)/"
        for _ in 0..<2 { #expect(try await lanes.answer(to: request(url, scope: certified)).get().status == 200) }
        #expect(await lanes.failure(of: request(url, scope: nil)) != nil)
        #expect(await lanes.failure(of: request(url, scope: ConnectionScope())) != nil)
        await lanes.shutdown()
    }

    @Test(arguments: [true, false])
    func libcurlPresentsTheScopesCertificateToo(_ multiplexed: Bool) async throws {
        let server = try await PlainServer(isSecure: true, asksForCertificates: true)
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        let url = "https://localhost:\(server.port)/echo"
        let withIt = request(url, scope: certified, multiplexed: multiplexed)
        #expect(try await lanes.answer(to: withIt).get().status == 200)
        #expect(await lanes.failure(of: request(url, scope: nil, multiplexed: multiplexed)) != nil)
        await lanes.shutdown()
        await server.stop()
    }

    @Test func libcurlSharesConnectionsOnlyWithinAScope() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        let scope = ConnectionScope()
        func ask(_ scope: ConnectionScope?) async throws {
            let answer = await lanes.answer(
                to: request("http://localhost:\(server.port)/echo", scope: scope, multiplexed: false)
            )
            #expect(try answer.get().status == 200)
        }
        for _ in 0..<3 { try await ask(nil) }
        #expect(server.connections == 1)
        for _ in 0..<3 { try await ask(scope) }
        #expect(server.connections == 2)
        try await ask(ConnectionScope())
        #expect(server.connections == 3)
        lanes.retire(scope)
        // Each late request gets a separate connection.
        for _ in 0..<2 { try await ask(scope) }
        #expect(server.connections == 5)
        try await ask(nil)
        #expect(server.connections == 5)
        await lanes.shutdown()
        await server.stop()
    }

    @Test func moreScopesThanClientsAreServed() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<80 {
                group.addTask {
                    let url = "http://localhost:\(server.port)/echo"
                    let answer = await lanes.answer(to: request(url, scope: ConnectionScope(), multiplexed: false))
                    #expect((try? answer.get())?.status == 200)
                }
            }
        }
        #expect(server.connections == 80)
        await lanes.shutdown()
        await server.stop()
    }

    @Test func everyConnectionResolvesItsNameAgain() async throws {
        let first = try await Nghttpd(address: "127.0.0.1")
        let second = try await Nghttpd(address: "127.0.0.3", port: first.port)
        let addresses = NIOLockedValueBox(["127.0.0.1"])
        let asked = NIOLockedValueBox(0)
        let names = ThreadedLookup { _, port in
            asked.withLockedValue { $0 += 1 }
            return addresses.withLockedValue { $0 }.compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        }
        let lanes = try HTTPLanes.forTests(
            .init(caFile: caFile),
            names: NameLookups(operators: names.lookUp, users: names.lookUp)
        )
        let ask = request("https://localhost:\(first.port)/", scope: nil)
        #expect(try await lanes.answer(to: ask).get().status == 200)
        addresses.withLockedValue { $0 = ["127.0.0.3"] }
        #expect(try await lanes.answer(to: ask).get().status == 200)
        #expect(asked.withLockedValue { $0 } == 1)
        first.stop()
        // The first connection may still be closing when the next request comes.
        var status = 0
        while status != 200 {
            if case .success(let response) = await lanes.answer(to: ask) { status = response.status }
        }
        #expect(asked.withLockedValue { $0 } >= 2)
        second.stop()
        #expect(await lanes.failure(of: ask) != nil)
        await lanes.shutdown()
    }
}
