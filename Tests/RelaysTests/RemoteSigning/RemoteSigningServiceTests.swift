import Core
import Nostr
import Testing

@testable import Relays

/// The permissions and the lifetime of a session.
@Suite struct RemoteSigningServiceTests {
    @Test func clientConnectsAndSendsRequests() throws {
        let bench = try SigningBench(RemoteSigningConfiguration(relays: ["wss://a.example", "wss://b.example/x"]))
        let client = try bench.client()
        #expect(try bench.ask("connect", [bench.identity.publicKey.hex], from: client) == .result("ack"))
        #expect(try bench.ask("ping", from: client) == .result("pong"))
        #expect(try bench.ask("get_public_key", from: client) == .result(bench.identity.publicKey.hex))
        #expect(try bench.ask("switch_relays", from: client) == .result(#"["wss://a.example","wss://b.example/x"]"#))
        #expect(try bench.ask("logout", from: client) == .result("ack"))
        #expect(try bench.ask("ping", from: client) == .error("no session: connect first"))
    }

    @Test func switchRelaysIsEmptyWithoutRelays() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        #expect(try bench.ask("switch_relays", from: client) == .result("null"))
    }

    @Test(arguments: ["sign_event", "nip44_decrypt", "nip04_encrypt", "describe", "Ping"])
    func unknownMethodErrorListsTheKnownOnes(_ method: String) throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        let expected =
            "unknown method: this router supports connect, ping, get_public_key, register, switch_relays, me, logout"
        #expect(try bench.ask(method, from: client) == .error(expected))
    }

    @Test(arguments: ["ping", "get_public_key", "register", "switch_relays", "me", "logout"])
    func onlyConnectIsAllowedWithoutASession(_ method: String) throws {
        let bench = try SigningBench()
        let client = try bench.client()
        let registration = try bench.registration(by: client)
        let outcome = try bench.ask(method, [registration.jsonString], from: client)
        #expect(outcome == .error("no session: connect first"))
        #expect(bench.registered.isEmpty)
    }

    @Test func registrationsOfAnyAuthorGoToTheRegistry() throws {
        let bench = try SigningBench(RemoteSigningConfiguration(requireSession: true))
        let (client, account) = (try bench.client(), try bench.client())
        _ = try bench.ask("connect", from: client)
        let first = try bench.registration(by: account)
        let second = try bench.registration(by: account, kind: .addressablePushRegistration)
        #expect(try bench.ask("register", [first.jsonString], from: client) == .result("ack"))
        #expect(try bench.ask("register", [second.jsonString], from: client) == .result("ack"))
        #expect(bench.registered == [first, second])
    }

    @Test func refusedRegistrationReturnsItsReason() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        let json = try bench.registration(by: client).jsonString
        let outcome = try bench.ask("register", [json], from: client, register: .refused("blocked: too many"))
        #expect(outcome == .error("blocked: too many"))
    }

    @Test func onlyRegistrationEventsAreRegistered() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        _ = try bench.ask("connect", from: client)
        let note = try Event.signed(kind: .textNote, createdAt: bench.seconds, by: client)
        for params in [[], [""], ["{}"], [note.jsonString]] {
            let outcome = try bench.ask("register", params, from: client)
            let expected = "invalid: expected one parameter, the JSON of a signed event of kind 10062 or 30062"
            #expect(outcome == .error(expected))
        }
        #expect(bench.registered.isEmpty)
    }

    @Test func sessionsOutliveARestart() throws {
        let bench = try SigningBench()
        let (client, other) = (try bench.client(), try bench.client())
        _ = try bench.ask("connect", from: client)
        _ = try bench.ask("connect", from: other)
        _ = try bench.ask("logout", from: other)
        try bench.restart()
        #expect(try bench.ask("ping", from: client) == .result("pong"))
        #expect(try bench.ask("ping", from: other) == .error("no session: connect first"))
    }

    @Test func sessionsUnusedForLongEnd() throws {
        let bench = try SigningBench()
        let (idle, busy) = (try bench.client(), try bench.client())
        _ = try bench.ask("connect", from: idle)
        _ = try bench.ask("connect", from: busy)
        bench.wait(.days(60))
        #expect(try bench.ask("ping", from: busy) == .result("pong"))
        bench.wait(.days(31))
        #expect(try bench.ask("ping", from: idle) == .error("no session: connect first"))
        try bench.restart()
        #expect(try bench.ask("ping", from: idle) == .error("no session: connect first"))
        #expect(try bench.ask("ping", from: busy) == .result("pong"))
    }

    @Test func plainRegistrationsRequireASessionIfConfigured() throws {
        let bench = try SigningBench(RemoteSigningConfiguration(requireSession: true))
        let (client, device) = (try bench.client(), try bench.client())
        #expect(!bench.admits(try bench.registration(by: client)))
        _ = try bench.ask("connect", from: client)
        #expect(bench.admits(try bench.registration(by: client)))
        #expect(!bench.admits(try bench.registration(by: device)))
        #expect(bench.admits(try bench.registration(by: device, root: client.publicKey.hex)))
        #expect(!bench.admits(try bench.registration(by: device, root: "nonsense")))
        #expect(try SigningBench().admits(bench.registration(by: device)))
    }

    /// A `logout` that a relay repeats after a restart, when no state of it is left, must not end newer sessions.
    @Test func answersAreNeverOlderThanTheirRequests() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        let request = RemoteSigningRequest(id: "1", method: "connect").json
        for offset: Int64 in [300, -300] {
            bench.receive(try bench.event(request, from: client, at: bench.seconds + offset))
            let reply = try #require(bench.replies.last)
            #expect(reply.createdAt == bench.seconds + max(0, offset))
        }
    }

    @Test func responsesUseTheRequestsChannel() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        for (id, source) in [("1", RequestSource.ownSocket), ("2", .relays), ("3", .ownSocket)] {
            let request = RemoteSigningRequest(id: id, method: "connect").json
            bench.receive(try bench.event(request, from: client), from: source)
            bench.receive(try bench.event("{\"id\":\"\(id)\"}", from: client), from: source)
        }
        #expect(bench.sources == [.ownSocket, .ownSocket, .relays, .relays, .ownSocket, .ownSocket])
    }

    @Test func invalidRequestsWithAnIDGetAnError() throws {
        let bench = try SigningBench()
        let client = try bench.client()
        bench.receive(try bench.event("{\"id\":\"a\",\"params\":[]}", from: client))
        let noMethod = RemoteSigningResponse(id: "a", .error("expected the name of a method"))
        #expect(try bench.response(to: client) == noMethod)
        bench.receive(try bench.event("{\"id\":\"b\",\"method\":\"ping\",\"params\":[{}]}", from: client))
        let wrongParams = RemoteSigningResponse(id: "b", .error("params: expected an array of strings"))
        #expect(try bench.response(to: client) == wrongParams)
    }

    @Test func leastRecentlyUsedSessionIsEvictedWhenFull() throws {
        var limits = SessionLimits()
        limits.sessions = 2
        let bench = try SigningBench(limits: limits)
        let clients = try (0..<3).map { _ in try bench.client() }
        _ = try bench.ask("connect", from: clients[0])
        bench.wait(.seconds(1))
        _ = try bench.ask("connect", from: clients[1])
        bench.wait(.seconds(1))
        _ = try bench.ask("ping", from: clients[0])
        bench.wait(.seconds(1))
        #expect(try bench.ask("connect", from: clients[2]) == .result("ack"))
        try bench.restart(limits: limits)
        #expect(try bench.ask("ping", from: clients[0]) == .result("pong"))
        #expect(try bench.ask("ping", from: clients[1]) == .error("no session: connect first"))
        #expect(try bench.ask("ping", from: clients[2]) == .result("pong"))
    }
}
