import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Relays

/// Replays, floods and nonsense.
@Suite struct HostileRequestsTests {
    @Test func anEventIsAnsweredOnce() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        let event = try bench.event(RemoteSigningRequest(id: "1", method: "connect").json, from: client)
        for _ in 0..<3 { bench.receive(event) }
        #expect(bench.replies.count == 1)
    }

    @Test(arguments: [-601, 601, -100_000])
    func oldAndFutureRequestsAreNotAnswered(_ offset: Int64) throws {
        let bench = try SigningBench()
        #expect(try bench.ask("connect", from: bench.client(), at: bench.seconds + offset) == nil)
    }

    @Test(arguments: [Int64.min, .max, 0])
    func absurdTimestampsAreNotAnswered(_ seconds: Int64) throws {
        let bench = try SigningBench()
        #expect(try bench.ask("connect", from: bench.client(), at: seconds) == nil)
    }

    @Test func oldLogoutDoesNotEndANewSession() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        bench.wait(.seconds(10))
        let logout = try bench.event(RemoteSigningRequest(id: "1", method: "logout").json, from: client)
        bench.receive(logout)
        bench.wait(.seconds(10))
        _ = try bench.ask("connect", from: client)
        try bench.restart()
        bench.receive(logout)
        #expect(try bench.ask("ping", from: client) == .result("pong"))
    }

    @Test func foreignOrUnreadableRequestIsIgnored() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        let connect = RemoteSigningRequest(id: "1", method: "connect").json
        bench.receive(try bench.event(connect, from: client, to: client.publicKey))
        bench.receive(try bench.event("no JSON", from: client))
        bench.receive(try bench.event("{\"result\":\"pong\"}", from: client))
        for content in ["", "bm8=?iv=bm8=", "#", String(repeating: "A", count: 200_000)] {
            bench.receive(
                try Event.signed(
                    kind: .remoteSigning,
                    createdAt: bench.seconds,
                    tags: [["p", bench.identity.publicKey.hex]],
                    content: content,
                    by: client
                )
            )
        }
        #expect(bench.replies.isEmpty)
    }

    @Test func floodOfNewKeysDelaysNoSession() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        var answered = 0
        for _ in 0..<300 where try bench.ask("connect", from: bench.client()) != nil { answered += 1 }
        #expect((150..<250).contains(answered))
        #expect(try bench.ask("ping", from: client) == .result("pong"))
        bench.wait(.seconds(60))
        #expect(try bench.ask("connect", from: bench.client()) == .result("ack"))
    }

    @Test func floodFromOneKeyDoesNotDelayOthers() throws {
        let bench = try SigningBench()
        let (flooder, stranger) = (try bench.client(), try bench.client())
        let outcomes = try (0..<100).compactMap { _ in try bench.ask("ping", from: flooder) }
        #expect(outcomes.count == 6)
        #expect(try bench.ask("connect", from: stranger) == .result("ack"))
        let pongs = try (0..<100).compactMap { _ in try bench.ask("ping", from: stranger) }
        #expect(pongs.count == 30)
        bench.wait(.seconds(1))
        #expect(try bench.ask("ping", from: stranger) == .result("pong"))
    }

    @Test func registrationsHaveALimitOfTheirOwn() throws {
        var limits = SessionLimits()
        limits.registrations = TokenBucket(capacity: 2, perSecond: 0.1, now: 0)
        let bench = try SigningBench(limits: limits)
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        let json = try bench.registration(by: client).jsonString
        let outcomes = try (0..<3).map { _ in try bench.ask("register", [json], from: client) }
        #expect(outcomes == [.result("ack"), .result("ack"), .error("rate-limited: slow down")])
        bench.wait(.seconds(10))
        #expect(try bench.ask("register", [json], from: client) == .result("ack"))
    }
}
