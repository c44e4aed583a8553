import NIOCore
import NIOPosix
import Testing

@testable import HTTPClient

struct GuardedResolverTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// Returns the addresses of `localhost`, while the only lookup thread is busy until `body` returns.
    private func lookUp(_ body: (GuardedResolver) -> Void) async throws -> [SocketAddress] {
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        let busy = loop.makePromise(of: Void.self)
        threads.submit { _ in try? busy.futureResult.wait() }
        let resolver = GuardedResolver(loop: loop, addressGuard: nil, threads: threads)
        let found = loop.flatSubmit {
            let v6 = resolver.initiateAAAAQuery(host: "localhost", port: 1)
            return resolver.initiateAQuery(host: "localhost", port: 1).and(v6).map { $0 + $1 }
        }
        try await loop.submit {}.get()
        body(resolver)
        busy.succeed()
        try? await found.map { _ in }.get()
        try await threads.shutdownGracefully()
        return try await found.get()
    }

    @Test func aNameIsLookedUp() async throws {
        #expect(try await !lookUp { _ in }.isEmpty)
    }

    @Test func cancelledLookupIsNotPerformed() async throws {
        await #expect(throws: HTTPError.self) { try await lookUp { $0.cancelQueries() } }
    }
}
