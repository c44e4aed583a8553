import Cipher
import Core
import Nostr
import Testing

@testable import Relays

@Suite(.timeLimit(.minutes(1)))
struct ProgressTests {
    @Test func keyIsEstablishedOnceStoredEventsAreHandled() async throws {
        let delegate = RecordingDelegate(holds: true)
        let test = try TestPool(delegate: delegate)
        let events = try (0..<2).map { try test.event(naming: test.identity.publicKey, "\($0)") }
        let relay = try await ScriptedRelay { RelayScript.answer($0, events: events) }
        let url = try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
        let key = try test.watch(url, test.identity.publicKey, isEstablished: false)
        #expect(await delegate.ids(2).count >= 2)
        #expect(delegate.established == [])
        delegate.release()
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

    /// Events that concern no account are dropped on the relay's threads, and the relay counts as read.
    @Test func unaddressedEventsReachNoDelegate() async throws {
        let author = try KeyPair(random: SecureRandom.bytes)
        let prefilter = ScreenedAuthors(author.publicKey)
        let test = try TestPool(prefilter: prefilter)
        let nobodys = try (0..<3).map {
            try Event.signed(kind: .textNote, createdAt: Timestamp.now().seconds, content: "\($0)", by: author)
        }
        let last = try test.event(naming: test.identity.publicKey)
        let relay = try await ScriptedRelay { text in
            guard case .request(let subscription, let filters)? = try? ClientMessage(text) else { return [] }
            let end = "[\"EOSE\",\"\(subscription.name)\"]"
            guard filters.contains(where: { $0.limit == 1 && $0.kinds?.contains(.pushRegistration) != true }) else {
                return [end]
            }
            return [end] + (nobodys + [last]).map { RelayScript.event($0, on: subscription.name) }
        }
        let url = try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
        let key = try test.watch(url, isEstablished: false)
        #expect(await test.delegate.ids(1) == [last.id])
        await test.wait(untilEstablished: [key])
        await test.pool.shutdown()
        #expect(prefilter.reported == 3)
        #expect(test.delegate.marks.last != nil)
        try await relay.close()
    }
}
