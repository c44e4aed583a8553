import Core
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Nostr
import RelayServer
import Testing

@testable import Relays

/// The pool as a client of our relay socket.
@Suite(.timeLimit(.minutes(1)))
struct OwnRelayServerTests {
    /// Accepts every event; has one stored event, for any client.
    private final class Backend: RelayBackend {
        let queries: AsyncStream<Set<PublicKey>>
        private let continuation: AsyncStream<Set<PublicKey>>.Continuation
        private let stored: [[UInt8]]

        init(stored: [[UInt8]]) {
            (queries, continuation) = AsyncStream.makeStream(of: Set<PublicKey>.self)
            self.stored = stored
        }

        func submit(
            _ events: [[UInt8]],
            authenticated: Set<PublicKey>,
            client: String?,
            completion: @escaping @Sendable ([EventAnswer]) -> Void
        ) {
            completion(events.map { EventAnswer(id: (try? Event(json: $0))?.id, accepted: true) })
        }

        func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]] {
            continuation.yield(authenticated)
            return stored
        }
    }

    private func server(_ backend: Backend, url: String = "") -> RelayServer {
        var configuration = RelayServerConfiguration()
        configuration.port = 0
        configuration.url = url
        return RelayServer(
            configuration: configuration,
            information: RelayInformation(
                name: "test",
                description: "",
                pubkey: "",
                version: "0",
                limits: configuration.limits
            ),
            backend: backend,
            group: .singletonMultiThreadedEventLoopGroup,
            now: Timestamp.now,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test func routerAuthenticatesAndRepeatsItsRequest() async throws {
        let test = try TestPool()
        let registration = try Event.signed(
            kind: .addressablePushRegistration,
            createdAt: Timestamp.now().seconds,
            tags: [["d", test.identity.publicKey.hex]],
            by: test.identity
        )
        let backend = Backend(stored: [registration.json])
        let listener = try await server(backend, url: "ws://127.0.0.1").start()
        test.pool.keep([try #require(RelayURL("ws://127.0.0.1:\(listener.port)"))])
        // The socket serves registrations only to authenticated clients (NIP-42).
        for await authenticated in backend.queries where authenticated == [test.identity.publicKey] { break }
        #expect(await test.delegate.ids(1) == [registration.id])
        await test.pool.shutdown()
        try await listener.close()
    }

    @Test func liveEventsForOurKeyArrive() async throws {
        let test = try TestPool()
        let backend = Backend(stored: [])
        let server = server(backend)
        let listener = try await server.start()
        let url = try #require(RelayURL("ws://127.0.0.1:\(listener.port)"))
        test.pool.keep([url])
        for await _ in backend.queries { break }
        let request = try Event.signed(
            kind: .remoteSigning,
            createdAt: Timestamp.now().seconds,
            tags: [["p", test.identity.publicKey.hex]],
            content: "sealed",
            by: test.identity
        )
        #expect(await test.publish(request, to: [url]) == [url: .accepted])
        server.broadcast(request)
        #expect(await test.delegate.ids(1) == [request.id])
        await test.pool.shutdown()
        try await listener.close()
    }
}
