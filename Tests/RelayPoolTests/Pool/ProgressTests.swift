import Nostr
import Testing
import Units

@testable import RelayPool

@Suite(.timeLimit(.minutes(1)))
struct ProgressTests {
    @Test func aKeyIsEstablishedWhenWhatWasStoredIsDealtWith() async throws {
        let delegate = RecordingDelegate(holds: true)
        let test = try TestPool(delegate: delegate)
        let events = try (0..<2).map { try test.event(naming: test.identity.publicKey, "\($0)") }
        let relay = try await ScriptedRelay { RelayScript.answer($0, events: events) }
        let url = try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
        let key = try test.watch(url, test.identity.publicKey, isEstablished: false)
        #expect(await delegate.ids(2).count >= 2)
        #expect(delegate.established == [])
        delegate.letGo()
        await test.wait(untilEstablished: [key])
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func leavingMarksHowFarARelayWasRead() async throws {
        let relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        let began = Timestamp.now().seconds
        let url = try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
        let key = try test.watch(url, isEstablished: false)
        await test.wait(untilEstablished: [key])
        await test.pool.shutdown()
        let mark = try #require(test.delegate.marks.last)
        #expect(mark >= began && mark <= Timestamp.now().seconds)
        try await relay.close()
    }
}
