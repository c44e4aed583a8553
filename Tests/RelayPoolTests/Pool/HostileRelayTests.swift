import NIOCore
import NIOWebSocket
import Nostr
import Testing
import Units

@testable import RelayPool

/// What relays do that no relay should: each leaves its trace, and none is connected to after a block.
@Suite(.timeLimit(.minutes(1)))
struct HostileRelayTests {
    private func url(_ relay: ScriptedRelay) throws -> RelayURL {
        try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
    }

    private func wait(_ test: TestPool, _ url: RelayURL, until condition: (RelayConduct) -> Bool) async {
        while !condition(test.pool.conduct[url] ?? RelayConduct()), !Task.isCancelled { await Task.yield() }
    }

    /// What a relay says to each of our requests, and what that counts as.
    @Test(arguments: [
        (["nonsense"], RelayOffence.malformed),
        ([#"["EVENT"]"#], .malformed),
        ([#"["EVENT","stranger",{"id":"00"}]"#], .unasked),
        ([#"["AUTH","one"]"#, #"["AUTH","two"]"#, #"["AUTH","three"]"#, #"["AUTH","four"]"#], .challenges),
        ([String(repeating: " ", count: 5_000)], .tooLong),
    ])
    func offenceOfText(_ answers: [String], _ offence: RelayOffence) async throws {
        let relay = try await ScriptedRelay { _ in answers }
        let test = try TestPool { $0.limits.messageBytes = .kibibytes(4) }
        try test.watch(url(relay))
        await wait(test, try url(relay)) { $0.offences[offence] != nil }
        #expect(try test.pool.conduct[url(relay)]?.offences[offence] != nil)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func aFloodOfNoticesIsCountedAndEnds() async throws {
        let notices = [String](repeating: #"["NOTICE","buy \u001b[31mnow"]"#, count: 1_200)
        let relay = try await ScriptedRelay { _ in notices }
        let test = try TestPool()
        try test.watch(url(relay))
        await wait(test, try url(relay)) { $0.offences[.flood] != nil }
        let conduct = try #require(try test.pool.conduct[url(relay)])
        #expect(conduct.lastWords.map(\.text) == ["buy  [31mnow"])
        #expect(try test.pool.conduct.misbehaving == [url(relay)])
        // We ended it ourselves: that its connection ended so is no offence besides.
        #expect(conduct.offences[.brokenFrames] == nil)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func brokenFramesAreCounted() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        try test.watch(url(relay))
        #expect(await relay.nextRequest() != nil)
        try await relay.send(WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(string: "x")))
        await wait(test, try url(relay)) { $0.offences[.brokenFrames] == 1 }
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func aBlockedRelayIsLeftAtOnceAndNeverComesBack() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        try test.watch(url(relay))
        #expect(await relay.nextRequest() != nil)
        let pattern = try #require(try RelayPattern(url(relay).text))
        test.pool.block(BlockedRelays([pattern]))
        while let received = await relay.next(), received != .closed(1000) {}
        #expect(test.pool.status.isEmpty)
        try test.watch(url(relay))
        #expect(
            await test.publish(try test.event(naming: test.identity.publicKey), to: [try url(relay)]) == [
                try url(relay): .unanswered
            ]
        )
        #expect(test.pool.status.isEmpty)
        test.pool.block(BlockedRelays())
        try test.watch(url(relay))
        while let received = await relay.next(), received != .connected {}
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func theOperatorsRelaysCannotBeBlockedByAWildcard() async throws {
        let relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        test.pool.keep([try url(relay)])
        await test.wait(for: try url(relay)) { $0?.state == .connected }
        test.pool.block(BlockedRelays([try #require(RelayPattern("127.0.0.1"))]))
        #expect(test.pool.status.map(\.state) == [.connected])
        await test.pool.shutdown()
        try await relay.close()
    }
}
