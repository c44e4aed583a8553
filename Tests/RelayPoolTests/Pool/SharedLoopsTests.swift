import NIOCore
import NIOPosix
import Testing

@testable import RelayPool

@Suite struct SharedLoopsTests {
    @Test func someShareAThreadBeforeTheNextOneGetsAny() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        var loops = SharedLoops(relays: 4)
        let threads = (0..<9).map { _ in ObjectIdentifier(loops.next(from: group)) }
        #expect(Set(threads[..<4]).count == 1)
        #expect(Set(threads[4..<8]).count == 1)
        #expect(Set(threads).count == 3)
        try await group.shutdownGracefully()
    }
}
