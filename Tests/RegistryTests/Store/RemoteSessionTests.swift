import Core
import Nostr
import Registry
import Testing
import TimeTestSupport

@Suite struct RemoteSessionTests {
    private func session(_ seed: UInt64, usedAt: Timestamp = 10) -> RemoteSession {
        RemoteSession(client: PublicKey(Bytes32(words: (seed, 0, 0, 0))), openedAt: 5, usedAt: usedAt)
    }

    private func sessions(of bench: Bench, usedSince limit: Timestamp = 0) throws -> [RemoteSession] {
        try bench.registry.remoteSessions(usedSince: limit).sorted { $0.client < $1.client }
    }

    @Test func sessionsAreKept() throws {
        let bench = try Bench()
        #expect(try bench.registry.open(session(1), secret: nil))
        #expect(try bench.registry.open(session(2), secret: nil))
        #expect(try bench.registry.open(session(2, usedAt: 20), secret: nil))
        try bench.registry.use(session(1, usedAt: 30))
        try bench.registry.use(session(3))
        try bench.reopen()
        #expect(try sessions(of: bench) == [session(1, usedAt: 30), session(2, usedAt: 20)])
    }

    @Test func closedDroppedAndUnusedSessionsAreRemoved() throws {
        let bench = try Bench()
        for seed in 1...4 as ClosedRange<UInt64> {
            let usedAt = Timestamp(milliseconds: Int64(seed))
            #expect(try bench.registry.open(session(seed, usedAt: usedAt), secret: nil))
        }
        try bench.registry.closeRemoteSession(of: session(4).client)
        #expect(try bench.registry.open(session(5, usedAt: 5), secret: nil, dropping: [session(3).client]))
        #expect(try sessions(of: bench, usedSince: 2) == [session(2, usedAt: 2), session(5, usedAt: 5)])
        #expect(try sessions(of: bench).count == 2)
    }

    @Test func secretBelongsToItsFirstClient() throws {
        let bench = try Bench()
        #expect(try bench.registry.open(session(1), secret: [1, 2, 3]))
        #expect(try !bench.registry.open(session(2), secret: [1, 2, 3]))
        #expect(try bench.registry.open(session(2), secret: [1, 2, 4]))
        try bench.registry.closeRemoteSession(of: session(1).client)
        try bench.reopen()
        #expect(try !bench.registry.open(session(2), secret: [1, 2, 3]))
        #expect(try bench.registry.open(session(1), secret: [1, 2, 3]))
    }

    @Test func aSessionThatIsNotOpenedDropsNoOther() throws {
        let bench = try Bench()
        #expect(try bench.registry.open(session(1), secret: [1]))
        #expect(try !bench.registry.open(session(2), secret: [1], dropping: [session(1).client]))
        #expect(try sessions(of: bench) == [session(1)])
    }
}
