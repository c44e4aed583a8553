import Core
import NIOCore
import NIOWebSocket
import Nostr
import Testing

@testable import Relays

/// Misbehaving relays: each violation is recorded, and a blocked relay gets no more connections.
@Suite(.timeLimit(.minutes(1)))
struct HostileRelayTests {
    private func url(_ relay: ScriptedRelay) throws -> RelayURL {
        try #require(RelayURL("ws://127.0.0.1:\(relay.port)"))
    }

    private func wait(_ test: TestPool, _ url: RelayURL, until condition: (RelayBehavior) -> Bool) async {
        while !condition(test.pool.behavior[url] ?? RelayBehavior()), !Task.isCancelled { await Task.yield() }
    }

    /// A relay's responses to each of our requests, and the violation that each counts as.
    @Test(arguments: [
        (["nonsense"], RelayViolation.malformed),
        ([#"["EVENT"]"#], .malformed),
        ([#"["EVENT","stranger",{"id":"00"}]"#], .unasked),
        ([#"["AUTH","one"]"#, #"["AUTH","two"]"#, #"["AUTH","three"]"#, #"["AUTH","four"]"#], .challenges),
        ([String(repeating: " ", count: 5_000)], .tooLong),
    ])
    func textViolationIsCounted(_ answers: [String], _ violation: RelayViolation) async throws {
        let relay = try await ScriptedRelay { _ in answers }
        let test = try TestPool { $0.limits.messageBytes = .kibibytes(4) }
        try test.watch(url(relay))
        await wait(test, try url(relay)) { $0.violations[violation] != nil }
        #expect(try test.pool.behavior[url(relay)]?.violations[violation] != nil)
        await test.pool.shutdown()
        try await relay.close()
    }

    /// An event that is too long, between two others, live and stored: it delays neither the others nor the mark.
    @Test func tooLongMessageDelaysNoOthers() async throws {
        let test = try TestPool { $0.limits.messageBytes = .kibibytes(4) }
        let key = test.identity.publicKey
        let stored = try [1, 5_000, 1].map { try test.event(naming: key, String(repeating: "a", count: $0)) }
        let live = try [2, 9_000, 2].map { try test.event(naming: key, String(repeating: "b", count: $0)) }
        var relay = try await ScriptedRelay { text in
            guard case .request(let subscription, let filters)? = try? ClientMessage(text) else { return [] }
            let isForEvents = filters.contains { $0.tags["p"]?.contains(key.hex) == true && $0.kinds == nil }
            let isLive = filters.contains { $0.limit == 1 }
            let end = "[\"EOSE\",\"\(subscription.name)\"]"
            func events(_ events: [Event]) -> [String] { events.map { RelayScript.event($0, on: subscription.name) } }
            guard isForEvents else { return [end] }
            return isLive ? [end] + events(live) : events(stored) + [end]
        }
        let began = Timestamp.now().seconds
        try test.watch(url(relay), key, isEstablished: false)
        let short = (stored + live).filter { $0.content.count < 4_000 }.map(\.id)
        #expect(await Set(test.delegate.ids(4)).isSubset(of: short))
        await test.wait(untilEstablished: [key])
        #expect(try test.pool.behavior[url(relay)]?.violations[.tooLong] ?? 0 >= 2)
        #expect(try test.pool.behavior.misbehaving.contains(url(relay)) == false)
        #expect(test.delegate.unread >= 2)
        await test.pool.shutdown()
        #expect(try #require(test.delegate.marks.last) >= began)
        // One connection, which we closed.
        #expect(await relay.next() == .connected)
        while let received = await relay.next(), received != .closed(1000) { #expect(received != .connected) }
        try await relay.close()
    }

    @Test func floodOfNoticesIsCountedAndDisconnected() async throws {
        let notices = [String](repeating: #"["NOTICE","buy \u001b[31mnow"]"#, count: 1_200)
        let relay = try await ScriptedRelay { _ in notices }
        let test = try TestPool()
        try test.watch(url(relay))
        await wait(test, try url(relay)) { $0.violations[.flood] != nil }
        let behavior = try #require(try test.pool.behavior[url(relay)])
        #expect(behavior.lastMessages.map(\.text) == ["buy  [31mnow"])
        #expect(try test.pool.behavior.misbehaving == [url(relay)])
        // We ended the connection, so its end is not another violation.
        #expect(behavior.violations[.brokenFrames] == nil)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func brokenFramesAreCounted() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        try test.watch(url(relay))
        #expect(await relay.nextRequest() != nil)
        try await relay.send(WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(string: "x")))
        await wait(test, try url(relay)) { $0.violations[.brokenFrames] == 1 }
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func blockedRelayIsDisconnectedImmediatelyAndForGood() async throws {
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
