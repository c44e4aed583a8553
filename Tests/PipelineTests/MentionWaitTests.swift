import Delivery
import Nostr
import Pipeline
import PlatformTestSupport
import Push
import Rules
import Testing

/// Rules that name the accounts and events that an event mentions, and the authors of events that it refers to.
@Suite struct MentionWaitTests {
    private let fetcher = FakeFetcher()
    private let bench: Workbench
    private let alice: KeyPair
    private let carol: KeyPair
    private let owner: KeyPair

    init() throws {
        let rules = try RuleBook(
            yaml: #"""
                version: 1
                mentions: names
                rules:
                  - { match: { kinds: 1 }, title: "to {{referenced.author.name}}", body: "{{event.content}}", event_data: false }
                  - { match: { kinds: 1111 }, mentions: raw, body: "{{event.content}}", event_data: false }
                """#,
            name: "test"
        )
        bench = try Workbench(rules: rules, dependencies: PipelineDependencies(contextFetcher: fetcher))
        alice = try Workbench.keys()
        carol = try Workbench.keys()
        owner = try bench.account()
    }

    private func note(_ content: String, kind: Kind = .textNote, tags: [[String]] = []) throws -> Event {
        try bench.event(kind, content, tags: tags + [["p", owner.publicKey.hex]], by: alice)
    }

    private func profile(_ name: String, of keys: KeyPair) throws -> Event {
        try bench.event(.profile, #"{"name":"\#(name)"}"#, by: keys)
    }

    /// Delivers the events that the fetcher found.
    private func find(_ events: [Event]) {
        bench.intake.submit(Submission(events: events.map(\.json), source: .relay(.fetched)) { _ in })
        bench.process()
    }

    private func end() {
        fetcher.last?.completion()
        bench.process()
    }

    @Test func mentionedPeopleAndNotesAreFetchedWhileTheEventWaits() throws {
        let mentioned = try bench.event(.textNote, "This is the way", by: carol)
        let article = try bench.event(Kind(30023), "# Title", tags: [["d", "a"]], by: carol)
        let naddr = try #require(NIP19.naddr(article.address))
        let content = "nostr:\(NIP19.npub(carol.publicKey)) nostr:\(NIP19.note(mentioned.id)) nostr:\(naddr)"
        _ = bench.arrive([([try note(content)], .relay(.live))])
        let wants = try #require(fetcher.last?.wants)
        #expect(wants.profiles == [carol.publicKey] && wants.events == [mentioned.id])
        #expect(wants.addresses == [article.address] && bench.kept.isEmpty)
        find([mentioned, article])
        #expect(bench.kept.isEmpty)
        find([try profile("carol", of: carol)])
        #expect(bench.kept.map(\.notification.body) == ["@carol “This is the way” “# Title”"])
        // Known events are not requested.
        bench.submit([try note("again " + content)], from: .relay(.live))
        #expect(bench.kept.count == 2 && fetcher.count == 1)
    }

    @Test func parentsAuthorIsFetchedOnceTheParentIsKnown() throws {
        let parent = try bench.event(.textNote, "hello", by: carol)
        _ = bench.arrive([([try note("hi", tags: [["e", parent.id.hex, "", "root"]])], .relay(.live))])
        #expect(fetcher.last?.wants.events == [parent.id])
        find([parent])
        #expect(bench.kept.isEmpty)
        #expect(fetcher.count == 2 && fetcher.last?.wants.profiles == [carol.publicKey])
        find([try profile("carol", of: carol)])
        #expect(bench.kept.map(\.notification.title) == ["to carol"])
    }

    @Test func missingProfileDoesNotDelayMentions() throws {
        let npub = NIP19.npub(carol.publicKey)
        _ = bench.arrive([([try note("nostr:\(npub)")], .relay(.live))])
        end()
        #expect(bench.kept.map(\.notification.body) == ["@\(carol.publicKey.hex.prefix(8))..."])
        bench.submit([try note("nostr:\(npub) again")], from: .relay(.live))
        #expect(bench.kept.count == 2 && fetcher.count == 1)
    }

    @Test func ruleWithRawMentionsFetchesNoProfiles() throws {
        let content = "nostr:\(NIP19.npub(carol.publicKey))"
        bench.submit([try note(content, kind: .comment)], from: .relay(.live))
        #expect(bench.kept.map(\.notification.body) == [content] && fetcher.count == 0)
    }

    /// An event may mention thousands of others, and each costs a relay a lookup.
    @Test func fetchedMentionsPerEventAreLimited() throws {
        let people = try (0..<50).map { _ in "nostr:" + NIP19.npub(try Workbench.keys().publicKey) }
        _ = bench.arrive([([try note(people.joined(separator: " "))], .relay(.live))])
        #expect(fetcher.last?.wants.profiles.count == 8)
    }
}
