import Cipher
import Nostr
import Testing

@testable import RelayServer

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

    @Test func anAnswerReachesWhoAsksForItsAddressee() throws {
        let answer = try event(.remoteSigning, to: client)
        #expect(try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [client]])) == 1)
        #expect(try wanting(answer, Filter(tags: ["p": [client]])) == 1)
        #expect(try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [client]], since: 1000, limit: 0)) == 1)
    }

    @Test func anAnswerReachesNobodyElse() throws {
        let answer = try event(.remoteSigning, to: client)
        #expect(try wanting(answer, Filter(), Filter(kinds: [.remoteSigning]), Filter(authors: [keys.publicKey])) == 0)
        let other = String(repeating: "cd", count: 32)
        #expect(
            try wanting(answer, Filter(kinds: [.remoteSigning], tags: ["p": [other]]), Filter(tags: ["p": []])) == 0
        )
        #expect(try wanting(answer, Filter(kinds: [.textNote], tags: ["p": [client]])) == 0)
        #expect(try wanting(answer, Filter(tags: ["p": [client]], since: 1001)) == 0)
    }

    @Test func theAdvertisementReachesWhoAsksForIt() throws {
        let advertisement = try event(.notificationRelay)
        #expect(try wanting(advertisement, Filter(), Filter(kinds: [.notificationRelay])) == 2)
        #expect(try wanting(advertisement, Filter(kinds: [.textNote]), Filter(ids: [])) == 0)
    }

    @Test func nothingElseReachesAnybody() throws {
        let note = try event(.textNote, to: client)
        #expect(try wanting(note, Filter(), Filter(tags: ["p": [client]]), Filter(kinds: [.textNote])) == 0)
    }

    @Test func closedSubscriptionsWantNothing() throws {
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
