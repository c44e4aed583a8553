import Cipher
import Core
import Nostr
import Synchronization
import Testing

@testable import RelayServer

/// Live events for subscribers, and the server's record of clients that send events.
@Suite struct LiveEventsTests {
    private static let event =
        "{\"id\":\"\(String(repeating: "0a", count: 32))\",\"pubkey\":\"\(String(repeating: "0b", count: 32))\",\"created_at\":1,"
        + "\"kind\":1,\"tags\":[],\"content\":\"\",\"sig\":\"\(String(repeating: "0c", count: 64))\"}"

    @Test func newEventReachesEverySubscriberOnce() async throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let client = String(repeating: "ab", count: 32)
        let answer = try Event.signed(
            kind: .remoteSigning,
            createdAt: 5,
            tags: [["p", client]],
            content: "x",
            by: keys
        )
        let last = try Event.signed(kind: .notificationRelay, createdAt: 5, content: "", by: keys)
        try await ServedRelay.run { port, server in
            var clients = [try await WebSocketClient(port: port), try await WebSocketClient(port: port)]
            for index in clients.indices {
                #expect(await clients[index].nextText() == "[\"AUTH\",\"word\"]")
                let filter =
                    index == 0 ? "{\"kinds\":[24133],\"#p\":[\"\(client)\"],\"limit\":0}" : "{\"kinds\":[24133]}"
                try await clients[index].send("[\"REQ\",\"s\",\(filter),{\"kinds\":[10067]}]")
                #expect(await clients[index].nextText() == "[\"EOSE\",\"s\"]")
            }
            server.broadcast(answer)
            server.broadcast(last)
            #expect(await clients[0].nextText() == "[\"EVENT\",\"s\",\(answer.jsonString)]")
            #expect(await clients[0].nextText() == "[\"EVENT\",\"s\",\(last.jsonString)]")
            #expect(await clients[1].nextText() == "[\"EVENT\",\"s\",\(last.jsonString)]")
            try await clients[0].send("[\"CLOSE\",\"s\"]")
            try await clients[0].send("[\"REQ\",\"t\",{\"kinds\":[1]}]")
            #expect(await clients[0].nextText() == "[\"EOSE\",\"t\"]")
            try await clients[1].close()
            try await clients[1].ended()
            server.broadcast(last)
            try await clients[0].send("[\"REQ\",\"u\",{\"kinds\":[1]}]")
            #expect(await clients[0].nextText() == "[\"EOSE\",\"u\"]")
            try await clients[0].close()
        }
    }

    @Test func subscriberThatDoesNotReadIsClosed() async throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let content = String(repeating: "x", count: 60_000)
        let event = try Event.signed(kind: .notificationRelay, createdAt: 5, content: content, by: keys)
        var limits = RelayServerConfiguration.Limits()
        limits.unreadBytes = .mebibytes(1)
        try await ServedRelay.run(limits: limits) { port, server in
            var client = try await WebSocketClient(port: port)
            #expect(await client.nextText() == "[\"AUTH\",\"word\"]")
            try await client.send("[\"REQ\",\"s\",{\"kinds\":[10067]}]")
            #expect(await client.nextText() == "[\"EOSE\",\"s\"]")
            try await client.reads(false)
            // More than what the system's buffers and our limit hold together.
            for _ in 0..<300 { server.broadcast(event) }
            try await client.reads(true)
            var texts = 0
            while case .text? = await client.next() { texts += 1 }
            #expect(texts < 300)
            try await client.ended()
        }
    }

    @Test func eventsCarryTheirAuthenticatedKeys() async throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let proof = try Event.signed(
            kind: .clientAuthentication,
            createdAt: 1_700_000_000,
            tags: [["relay", "ws://127.0.0.1"], ["challenge", "word"]],
            by: keys
        )
        let backend = RecordingBackend()
        try await ServedRelay.run(backend) { port, _ in
            var client = try await WebSocketClient(port: port)
            #expect(await client.nextText() == "[\"AUTH\",\"word\"]")
            try await client.send("[\"EVENT\",\(Self.event)]")
            #expect(await client.nextText().hasPrefix("[\"OK\""))
            try await client.send("[\"AUTH\",\(proof.jsonString)]")
            #expect(await client.nextText() == "[\"OK\",\"\(proof.id.hex)\",true,\"\"]")
            try await client.send("[\"EVENT\",\(Self.event)]")
            #expect(await client.nextText().hasPrefix("[\"OK\""))
            try await client.close()
        }
        #expect(backend.state.withLock { $0.authenticated } == [[], [keys.publicKey]])
    }
}

@Suite struct LiveSubscriptionsTests {
    private let keys: KeyPair
    private let client = String(repeating: "ab", count: 32)

    init() throws {
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    private func event(_ kind: Kind, to client: String? = nil, at time: Int64 = 1000) throws -> Event {
        let tags = client.map { [["p", $0]] } ?? []
        return try Event.signed(kind: kind, createdAt: time, tags: tags, content: "", by: keys)
    }

    private func open(
        _ id: SubscriptionID,
        _ filters: [Filter],
        limit: Int,
        in subscriptions: inout LiveSubscriptions
    ) -> Bool {
        subscriptions.open(id, filters, limit: limit)
    }

    private func wanting(_ event: Event, _ filters: Filter...) throws -> Int {
        var subscriptions = LiveSubscriptions()
        for (index, filter) in filters.enumerated() {
            #expect(open(try #require(SubscriptionID("\(index)")), [filter], limit: 100, in: &subscriptions))
        }
        return subscriptions.wanting(event).count
    }

    @Test func responseReachesSubscribersOfItsRecipient() throws {
        let answer = try event(.remoteSigning, to: client)
        #expect(try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [client]])) == 1)
        #expect(try wanting(answer, Filter(tags: ["p": [client]])) == 1)
        #expect(try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [client]], since: 1000, limit: 0)) == 1)
    }

    @Test func responseReachesOnlyItsRecipient() throws {
        let answer = try event(.remoteSigning, to: client)
        #expect(try wanting(answer, Filter(), Filter(kinds: [.remoteSigning]), Filter(authors: [keys.publicKey])) == 0)
        let other = String(repeating: "cd", count: 32)
        #expect(
            try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [other]]), Filter(tags: ["p": []])) == 0
        )
        #expect(try wanting(answer, Filter(kinds: [.textNote], tags: ["p": [client]])) == 0)
        #expect(try wanting(answer, Filter(tags: ["p": [client]], since: 1001)) == 0)
    }

    @Test func advertisementReachesItsSubscribers() throws {
        let advertisement = try event(.notificationRelay)
        #expect(try wanting(advertisement, Filter(), Filter(kinds: [.notificationRelay])) == 2)
        #expect(try wanting(advertisement, Filter(kinds: [.textNote]), Filter(ids: [])) == 0)
    }

    @Test func otherEventsReachNoSubscriber() throws {
        let note = try event(.textNote, to: client)
        #expect(try wanting(note, Filter(), Filter(tags: ["p": [client]]), Filter(kinds: [.textNote])) == 0)
    }

    @Test func closedSubscriptionsGetNoEvents() throws {
        var subscriptions = LiveSubscriptions()
        let id = try #require(SubscriptionID("s"))
        #expect(open(id, [Filter()], limit: 100, in: &subscriptions))
        subscriptions.close(id)
        #expect(subscriptions.wanting(try event(.notificationRelay)).isEmpty)
    }

    @Test func valuesAreCountedUntilTheirSubscriptionIsClosed() throws {
        var subscriptions = LiveSubscriptions()
        let (first, second) = (try #require(SubscriptionID("1")), try #require(SubscriptionID("2")))
        let filter = Filter(tags: ["p": Set((0..<9).map(String.init))])
        #expect(open(first, [filter], limit: 15, in: &subscriptions))
        #expect(!open(second, [filter], limit: 15, in: &subscriptions))
        #expect(open(second, [Filter(authors: [keys.publicKey], kinds: [.textNote])], limit: 15, in: &subscriptions))
        subscriptions.close(second)
        subscriptions.close(first)
        #expect(open(second, [filter], limit: 15, in: &subscriptions))
    }
}
