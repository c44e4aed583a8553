import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import HTTPClient

/// Names whose addresses change between two lookups.
struct RebindingTests {
    /// Answers each question with the next of `answers`, and then repeats the last one.
    private final class FickleNames: Sendable {
        private let answers: NIOLockedValueBox<[[String]]>
        private let asked = NIOLockedValueBox(0)

        init(_ answers: [[String]]) {
            self.answers = NIOLockedValueBox(answers)
        }

        var questions: Int { asked.withLockedValue { $0 } }

        func lookUp(
            _: String,
            _ port: Int,
            _ isWanted: @escaping @Sendable () -> Bool,
            _ completion: @escaping @Sendable ([SocketAddress]) -> Void
        ) {
            asked.withLockedValue { $0 += 1 }
            let answer = answers.withLockedValue { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
            completion(answer.compactMap { try? SocketAddress(ipAddress: $0, port: port) })
        }
    }

    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    private func resolve(_ resolver: GuardedResolver) async throws -> [String] {
        try await loop.flatSubmit {
            let v6 = resolver.initiateAAAAQuery(host: "push.example", port: 443)
            return resolver.initiateAQuery(host: "push.example", port: 443).and(v6).map { $0 + $1 }
        }.get().compactMap(\.ipAddress)
    }

    /// If a name has good and bad addresses, connections get only the good ones.
    @Test func forbiddenAddressesAreOmittedAmongGoodOnes() async throws {
        let names = FickleNames([
            ["127.0.0.1", "1.1.1.1", "169.254.169.254", "::1", "2606:4700::1111", "::ffff:10.0.0.1"]
        ])
        let resolver = GuardedResolver(loop: loop, addressGuard: AddressGuard(), lookUp: names.lookUp)
        #expect(try await resolve(resolver) == ["1.1.1.1", "2606:4700::1111"])
        #expect(names.questions == 1)
    }

    /// The connection uses the checked address: it asks once, and later responses for the name do not matter.
    @Test func checkedLookupResultIsTheOneConnectedTo() async throws {
        let names = FickleNames([["1.1.1.1"], ["127.0.0.1"]])
        let resolver = GuardedResolver(loop: loop, addressGuard: AddressGuard(), lookUp: names.lookUp)
        #expect(try await resolve(resolver) == ["1.1.1.1"])
        #expect(try await resolve(resolver) == ["1.1.1.1"])
        #expect(names.questions == 1)
        let next = GuardedResolver(loop: loop, addressGuard: AddressGuard(), lookUp: names.lookUp)
        await #expect(throws: HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false)) { try await resolve(next) }
    }

    /// Through lanes: a name that leads outside first and inside later reaches no inside host, on any connection.
    @Test(arguments: [["127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["64:ff9b::7f00:1"], ["fd00:ec2::254"]])
    func laneNeverConnectsToPrivateAddresses(_ inside: [String]) async throws {
        let server = try await PlainServer()
        var names = NameLookups()
        names.users = FickleNames([inside]).lookUp
        let lanes = try HTTPLanes.forTests(names: names)
        var request = HTTPRequest(method: "POST", url: "https://push.example:\(server.port)/", timeout: .seconds(20))
        request.untrustedURL = true
        request.multiplexed = true
        #expect(await lanes.failure(of: request) == HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false))
        #expect(server.connections == 0)
        await lanes.shutdown()
        await server.stop()
    }
}
