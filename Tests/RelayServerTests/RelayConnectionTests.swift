import Cipher
import Core
import Listeners
import Nostr
import Testing
import TimeTestSupport

@testable import RelayServer

@Suite struct RelayConnectionTests {
    private let keys: KeyPair
    private let now: Timestamp = 1_700_000_000_000

    init() throws {
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    private func connection(_ change: (inout RelayServerConfiguration.Limits) -> Void = { _ in }) -> RelayConnection {
        var limits = RelayServerConfiguration.Limits()
        change(&limits)
        return RelayConnection(
            limits: limits,
            ClientAuthentication(url: "wss://notify.example.com", challenge: "word"),
            now: now
        )
    }

    private func event(kind: Kind = .textNote, tags: [[String]] = [], at time: Int64? = nil) throws -> String {
        let event = try Event.signed(kind: kind, createdAt: time ?? now.seconds, tags: tags, content: "", by: keys)
        return String(decoding: event.json, as: UTF8.self)
    }

    private func texts(_ action: RelayConnection.Action) -> [String] {
        guard case .send(let messages) = action else { return [] }
        return messages.map { String(decoding: $0.json, as: UTF8.self) }
    }

    @Test func eventIsHandedOverUnchanged() throws {
        var connection = connection()
        let json = " " + (try event()).replacing(",", with: " , ")
        let action = connection.receive(Array("[\"EVENT\",\(json)]".utf8), now: now)
        #expect(action == .submit(Array(json.utf8.dropFirst())))
    }

    @Test(arguments: [
        "", "{}", "[]", "[\"EVENT\"]", "nonsense", "[\"HELLO\",1]", "[\"REQ\"]", "[\"REQ\",\"\",{}]",
        "[\"CLOSE\"]", "[\"AUTH\",{}]", "[\"EVENT\",{}", "\u{0}",
    ])
    func invalidMessageGetsANotice(_ text: String) {
        var connection = connection()
        let answers = texts(connection.receive(Array(text.utf8), now: now))
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix("[\"NOTICE\",\"invalid: ") == true)
    }

    @Test(arguments: ["{\"ids\":[\"xyz\"]}", "42", "{},", "{\"limit\":1,\"limit\":2}", "{"])
    func unreadableRequestIsClosedByItsID(_ filter: String) throws {
        var connection = connection()
        guard case .query = connection.receive(Array("[\"REQ\",\"s\",{}]".utf8), now: now) else {
            Issue.record("was refused")
            return
        }
        let answers = texts(connection.receive(Array("[\"REQ\",\"s\",\(filter)]".utf8), now: now))
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix("[\"CLOSED\",\"s\",\"invalid: ") == true)
        // The earlier subscription with that name is closed.
        let news = try Event.signed(kind: .notificationRelay, createdAt: 5, content: "", by: keys)
        #expect(connection.messages(for: LiveEvent(news)).isEmpty)
    }

    @Test(arguments: ["\"kind\":\"1\"", "\"sig\":[]", "\"tags\":[[\"p\",1e999]]", ""])
    func unreadableProofIsRefusedByItsID(_ field: String) {
        var connection = connection()
        let id = String(repeating: "0a", count: 32)
        let proof = "{\(field)\(field.isEmpty ? "" : ",")\"id\":\"\(id)\"}"
        let answers = texts(connection.receive(Array("[\"AUTH\",\(proof)]".utf8), now: now))
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix("[\"OK\",\"\(id)\",false,\"invalid: ") == true)
    }

    @Test func invalidUTF8GetsANotice() {
        var connection = connection()
        #expect(texts(connection.receive([0x5B, 0x22, 0xFF, 0x22, 0x5D], now: now)).count == 1)
    }

    @Test func subscriptionsAreLimitedAndClosingFreesOne() {
        var connection = connection {
            $0.subscriptions = 2
            $0.queriesInWork = 9
        }
        for name in ["a", "b", "a"] {
            guard case .query = connection.receive(Array("[\"REQ\",\"\(name)\",{}]".utf8), now: now) else {
                Issue.record("\(name) was refused")
                return
            }
        }
        let refusal = texts(connection.receive(Array("[\"REQ\",\"c\",{}]".utf8), now: now))
        #expect(refusal == ["[\"CLOSED\",\"c\",\"rate-limited: at most 2 subscriptions per connection\"]"])
        #expect(connection.receive(Array("[\"CLOSE\",\"a\"]".utf8), now: now) == .nothing)
        guard case .query = connection.receive(Array("[\"REQ\",\"c\",{}]".utf8), now: now) else {
            Issue.record("closing made no room")
            return
        }
    }

    @Test(arguments: [
        (["127.0.0.1", "127.0.0.1"], "ws://127.0.0.1:7447", true), (["127.0.0.1"], "ws://localhost:7447/", true),
        (["::1"], "ws://[0:0:0:0:0:0:0:1]:7447", true), (["::ffff:192.0.2.1"], "ws://192.0.2.1", true),
        (["2001:DB8::1"], "wss://[2001:db8:0::1]/", true), (["192.0.2.1", "Relay.lan"], "ws://relay.LAN:7447", true),
        (["192.0.2.1"], "wss://localhost", false), (["127.0.0.1"], "wss://relay.example", false),
        (["192.0.2.1"], "wss://192.0.2.11", false), (["127.0.0.1"], "", false), ([], "wss://relay.example", false),
        ([], "", false),
    ])
    func proofNamesTheListenAddressWithoutAPublicURL(_ addresses: [String], _ relay: String, _ isTaken: Bool) throws {
        var connection = RelayConnection(
            limits: RelayServerConfiguration.Limits(),
            ClientAuthentication(url: "", addresses: addresses, challenge: "word"),
            now: now
        )
        let proof = try event(kind: .clientAuthentication, tags: [["relay", relay], ["challenge", "word"]])
        let answer = texts(connection.receive(Array("[\"AUTH\",\(proof)]".utf8), now: now)).first
        #expect(answer?.contains("true") == isTaken && answer?.contains("relay.url is not set") == !isTaken)
        #expect(connection.authentication.publicKeys.isEmpty == !isTaken && connection.isProven == isTaken)
    }

    @Test(arguments: [(true, Kind.pushRegistration), (false, .pushRegistration), (true, .textNote)])
    func acceptedRegistrationProvesAClient(_ isAccepted: Bool, _ kind: Kind) throws {
        var connection = connection()
        let keys = try KeyPair(random: SecureRandom.bytes)
        let event = try Event.signed(kind: kind, createdAt: now.seconds, by: keys)
        let json = String(decoding: event.json, as: UTF8.self)
        _ = connection.receive(Array("[\"EVENT\",\(json)]".utf8), now: now)
        #expect(!connection.isProven)
        _ = connection.answered(events: 1, bytes: json.utf8.count, [EventAnswer(id: event.id, accepted: isAccepted)])
        #expect(connection.isProven == (isAccepted && kind == .pushRegistration))
    }

    @Test func tooManyFiltersAreRefused() {
        var connection = connection { $0.filters = 1 }
        let refusal = texts(connection.receive(Array("[\"REQ\",\"c\",{},{}]".utf8), now: now))
        #expect(refusal == ["[\"CLOSED\",\"c\",\"invalid: at most 1 filters per REQ\"]"])
    }

    @Test func clientThatSendsTooFastIsNotifiedAndMayContinueLater() throws {
        var connection = connection {
            $0.burst = 1
            $0.messagesPerSecond = 1
        }
        let message = Array("[\"EVENT\",\(try event())]".utf8)
        guard case .submit = connection.receive(message, now: now) else {
            Issue.record("the first was refused")
            return
        }
        let refusal = texts(connection.receive(message, now: now))
        #expect(refusal.count == 1)
        #expect(
            refusal.first?.hasPrefix("[\"OK\",\"") == true && refusal.first?.contains("false,\"rate-limited: ") == true
        )
        guard case .submit = connection.receive(message, now: now + .seconds(1)) else {
            Issue.record("a second later it was refused")
            return
        }
    }

    @Test func registrationsHaveTheirOwnRateLimit() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.registrationBurst = 1
        let client = try #require(ClientAddress(peer: "203.0.113.7", forwardedFor: []) { _ in false })
        var connection = RelayConnection(
            limits: limits,
            ClientAuthentication(url: "", challenge: "word"),
            share: ClientShare(of: client, in: ClientTables(limits)),
            now: now
        )
        func send(_ kind: Kind) throws -> RelayConnection.Action {
            // Escaped, the name of a member is still that name.
            let json = try event(kind: kind).replacing("\"kind\"", with: #""\u006bind""#)
            return connection.receive(Array("[\"EVENT\",\(json)]".utf8), now: now)
        }
        guard case .submit = try send(.pushRegistration) else {
            Issue.record("the first was refused")
            return
        }
        #expect(texts(try send(.addressablePushRegistration)).first?.contains("rate-limited: ") == true)
        guard case .submit = try send(.textNote) else {
            Issue.record("another kind was refused")
            return
        }
    }

    @Test func queriesWaitForEachOther() {
        var connection = connection { $0.queriesInWork = 1 }
        func ask(_ name: String) -> RelayConnection.Action {
            connection.receive(Array("[\"REQ\",\"\(name)\",{}]".utf8), now: now)
        }
        guard case .query = ask("a") else {
            Issue.record("the first had to wait")
            return
        }
        for name in ["b", "b", "b", "c"] { #expect(ask(name) == .nothing) }
        #expect(names(connection.work.answeredQuery()) == ["b"])
        #expect(names(connection.work.answeredQuery()) == ["c"])
        #expect(names(connection.work.answeredQuery()) == [])
    }

    private func names(_ actions: [RelayConnection.Action]) -> [String] {
        actions.compactMap {
            guard case .query(let subscription, _, _) = $0 else { return nil }
            return subscription.name
        }
    }

    @Test func authenticatedKeysPerConnectionAreLimited() throws {
        var connection = connection()
        let tags = [["relay", "wss://notify.example.com"], ["challenge", "word"]]
        for number in 1...33 {
            let keys = try KeyPair(random: SecureRandom.bytes)
            let proof = try Event.signed(
                kind: .clientAuthentication,
                createdAt: now.seconds,
                tags: tags,
                content: "",
                by: keys
            )
            let message = Array("[\"AUTH\",\(String(decoding: proof.json, as: UTF8.self))]".utf8)
            let answer = texts(connection.receive(message, now: now)).first
            #expect(answer?.contains(number <= 32 ? ",true," : ",false,\"restricted: ") == true)
        }
    }

    @Test func readingPausesWhileTooMuchIsInProgress() throws {
        var connection = connection { $0.eventsInWork = 2 }
        let json = try event()
        for _ in 0..<2 {
            #expect(connection.work.hasRoom)
            _ = connection.receive(Array("[\"EVENT\",\(json)]".utf8), now: now)
        }
        #expect(!connection.work.hasRoom)
        _ = connection.answered(events: 1, bytes: json.utf8.count)
        #expect(connection.work.hasRoom)
    }

    @Test func queryWaitsForTheEventsBeforeIt() throws {
        var connection = connection()
        let json = try event()
        _ = connection.receive(Array("[\"EVENT\",\(json)]".utf8), now: now)
        #expect(connection.receive(Array("[\"REQ\",\"a\",{}]".utf8), now: now) == .nothing)
        #expect(connection.receive(Array("[\"REQ\",\"b\",{}]".utf8), now: now) == .nothing)
        #expect(connection.receive(Array("[\"CLOSE\",\"b\"]".utf8), now: now) == .nothing)
        let ready = connection.answered(events: 1, bytes: json.utf8.count)
        guard case .query(let subscription, _, _)? = ready.first, ready.count == 1 else {
            Issue.record("expected the one query that is still wanted")
            return
        }
        #expect(subscription.name == "a")
    }

    @Test func registrationsAreServedOnlyToAuthenticatedClients() throws {
        var connection = connection()
        let request = Array("[\"REQ\",\"r\",{\"kinds\":[10062]}]".utf8)
        #expect(
            texts(connection.receive(request, now: now)) == [
                "[\"CLOSED\",\"r\",\"auth-required: registrations are returned only to their own author\"]"
            ]
        )
        let proof = try event(
            kind: .clientAuthentication,
            tags: [["relay", "wss://Notify.example.com/"], ["challenge", "word"]]
        )
        let answer = texts(connection.receive(Array("[\"AUTH\",\(proof)]".utf8), now: now))
        #expect(answer.first?.contains("true,\"\"") == true)
        let action = connection.receive(request, now: now)
        guard case .query(_, _, let authenticated) = action else {
            Issue.record("still refused")
            return
        }
        #expect(authenticated == [keys.publicKey])
    }

    @Test(arguments: [
        ([["relay", "wss://other.example"], ["challenge", "word"]], 0, "relay tag"),
        ([["relay", "wss://notify.example.com"], ["challenge", "another"]], 0, "challenge"),
        ([["relay", "wss://notify.example.com"]], 0, "challenge"),
        ([["relay", "wss://notify.example.com"], ["challenge", "word"]], 601, "created_at"),
        ([["relay", "wss://notify.example.com"], ["challenge", "word"]], -601, "created_at"),
    ])
    func wrongProofsAreRefused(_ tags: [[String]], _ offset: Int64, _ reason: String) throws {
        var connection = connection()
        let proof = try event(kind: .clientAuthentication, tags: tags, at: now.seconds + offset)
        let answer = texts(connection.receive(Array("[\"AUTH\",\(proof)]".utf8), now: now))
        #expect(answer.first?.contains("false,\"invalid: ") == true && answer.first?.contains(reason) == true)
    }

    @Test func proofWithAForgedSignatureIsRefused() throws {
        var connection = connection()
        let tags = [["relay", "wss://notify.example.com"], ["challenge", "word"]]
        let proof = try event(kind: .clientAuthentication, tags: tags).replacing(
            "\"content\":\"\"",
            with: "\"content\":\"x\""
        )
        let answer = texts(connection.receive(Array("[\"AUTH\",\(proof)]".utf8), now: now))
        #expect(answer.first?.contains("false,\"invalid: the id or the signature is wrong\"") == true)
    }
}
