import Core
import Delivery
import Nostr
import Pipeline
import PlatformTestSupport
import Push
import Registry
import Rules
import Testing
import TimeTestSupport

/// Rules that depend on the accounts that the recipient follows.
@Suite struct FollowedTests {
    private let fetcher = FakeFetcher()
    private let bench: Workbench
    private let alice: KeyPair
    private let mallory: KeyPair
    private let owner: KeyPair

    private static func rules() throws -> RuleBook {
        try RuleBook(
            yaml: """
                version: 1
                rules:
                  - { match: { kinds: [1], followed: true }, signal: mention, title: "{{event.content}}" }
                  - { match: { kinds: [3], followed: true }, signal: follow, title: "a friend follows" }
                  - { match: { kinds: [9735], followed: true }, title: "a friend zaps" }
                """,
            name: "test"
        )
    }

    init() throws {
        bench = try Workbench(rules: Self.rules(), dependencies: PipelineDependencies(contextFetcher: fetcher))
        alice = try Workbench.keys()
        mallory = try Workbench.keys()
        owner = try bench.account(["mention", "follow", "zap"])
    }

    private func note(_ content: String, by author: KeyPair, to account: KeyPair? = nil) throws -> Event {
        try bench.event(.textNote, content, tags: [["p", (account ?? owner).publicKey.hex]], by: author)
    }

    private func follows(_ named: KeyPair..., of author: KeyPair? = nil, at time: Int64 = 0) throws -> Event {
        let tags = named.map { ["p", $0.publicKey.hex] }
        return try bench.event(.contactList, tags: tags, by: author ?? owner, at: Workbench.time + time)
    }

    private func find(_ events: [Event]) {
        bench.intake.submit(Submission(events: events.map(\.json), source: .relay(.fetched)) { _ in })
        fetcher.last?.completion()
        bench.process()
    }

    private var told: [String] { bench.kept.map(\.notification.title) }

    @Test(arguments: [EventSource.socket(authenticated: []), .feed, .relay(.live), .relay(.stored), .relay(.baseline)])
    func onlyFollowedAuthorsSendAPush(source: EventSource) throws {
        #expect(bench.submit([try follows(alice)], from: source).map(\.result) == [.accepted])
        bench.submit([try note("one", by: alice), try note("two", by: mallory)], from: .relay(.live))
        #expect(told == ["one"])
        #expect(bench.count(.learned) == 1 && bench.count(.unmatched) == 1)
        #expect(fetcher.count == 0)
    }

    @Test func aListCountsForTheNextEventOfItsBatchAndTheNewestWins() throws {
        bench.submit(
            [
                try follows(alice, at: 1), try note("one", by: alice), try follows(mallory),
                try note("two", by: mallory),
                try follows(mallory, at: 2), try note("three", by: alice), try note("four", by: mallory),
            ],
            from: .relay(.live)
        )
        #expect(told == ["one", "four"])
        try bench.restart()
        bench.submit([try note("five", by: mallory)], from: .relay(.live))
        #expect(told == ["one", "four", "five"])
        #expect(fetcher.count == 0)
    }

    @Test func forgedListIsNotLearned() throws {
        var forged = try follows(mallory)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged], from: .relay(.live))
        #expect(bench.count(.forged) == 1)
        #expect(try bench.registry.isFollowed(mallory.publicKey, by: owner.publicKey) == nil)
    }

    @Test func strangersListsAreNotVerified() throws {
        var forged = try follows(alice, of: mallory)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged], from: .relay(.live))
        #expect(bench.count(.unaddressed) == 1 && bench.count(.forged) == 0)
    }

    /// Each follows the other. The first list waits, for the second account, for that account's own list.
    @Test func contactListMayAlsoBeAFollowOfOthers() throws {
        let friend = try bench.account()
        bench.submit([try follows(friend), try follows(owner, of: friend)])
        #expect(told == ["a friend follows", "a friend follows"])
        #expect(Set(bench.kept.map(\.device)).count == 2)
        #expect(try bench.registry.isFollowed(friend.publicKey, by: owner.publicKey) == true)
        #expect(try bench.registry.isFollowed(owner.publicKey, by: friend.publicKey) == true)
        #expect(bench.count(.learned) == 2)
    }

    @Test func missingFollowListIsFetched() throws {
        let answers = bench.arrive([([try note("one", by: alice), try note("two", by: mallory)], .relay(.live))])
        #expect(answers[0].count == 0)
        #expect(fetcher.last?.wants.contactLists == [owner.publicKey])
        find([try follows(alice)])
        #expect(told == ["one"])
        #expect(answers[0].count == 1)
        #expect(fetcher.count == 1)
    }

    @Test func missingFollowListMeansNoFollowsAndIsNotFetchedAgainSoon() throws {
        bench.submit([try note("one", by: alice)], from: .relay(.live))
        find([])
        bench.submit([try note("two", by: alice)], from: .relay(.live))
        #expect(told == [] && fetcher.count == 1)
        bench.clock.advance(by: .minutes(10))
        bench.submit([try note("three", by: alice)], from: .relay(.live))
        #expect(fetcher.count == 2)
    }

    /// The list notified another account before its author registered, and must still be read.
    @Test func aListFromBeforeTheAccountIsLearnedWhenItComesAgain() throws {
        let friend = try Workbench.keys()
        let list = try follows(owner, alice, of: friend)
        bench.submit([list], from: .relay(.baseline))
        bench.submit([try bench.registration(of: friend, Workbench.content())])
        bench.submit([list, list], from: .relay(.stored))
        #expect(try bench.registry.isFollowed(alice.publicKey, by: friend.publicKey) == true)
        #expect(bench.kept.isEmpty && bench.count(.learned) == 1)
        bench.submit([list], from: .relay(.stored))
        #expect(bench.count(.learned) == 1)
    }

    /// A list that named no registered account when it was read becomes a baseline later.
    @Test func listSeenBeforeARegistrationIsProcessedAgain() throws {
        let list = try follows(alice)
        bench.submit([list], from: .relay(.live))
        bench.submit([try bench.registration(of: alice, Workbench.content())])
        bench.submit([list], from: .relay(.baseline))
        #expect(bench.count(.baseline) == 1)
    }

    @Test func listRefusedByTheDiskMayBeResent() throws {
        let list = try follows(alice)
        try bench.lockRegistry(true, table: "followed")
        #expect(bench.submit([list]).map(\.result) == [.refused("error: could not be kept, try again later")])
        try bench.lockRegistry(false)
        #expect(bench.submit([list]).map(\.result) == [.accepted])
        bench.submit([try note("one", by: alice)])
        #expect(told == ["one"])
    }

    @Test func changedRulesForgetFollows() throws {
        bench.submit([try follows(alice)])
        try bench.restart(rules: RuleBook.builtIn())
        bench.submit([try follows(alice, at: 1)])
        try bench.restart(rules: Self.rules())
        #expect(try bench.registry.isFollowed(alice.publicKey, by: owner.publicKey) == nil)
    }

    @Test func senderOfAZapDecidesWhetherItIsFollowed() throws {
        bench.submit([try follows(alice)])
        for sender in [mallory, alice] {
            let recipient = ["p", owner.publicKey.hex]
            let request = try bench.event(.zapRequest, tags: [recipient, ["amount", "21000"]], by: sender)
            let description = ["description", String(decoding: request.json, as: UTF8.self)]
            let tags = [recipient, ["bolt11", "lnbc210n1pqqq"], description]
            bench.submit([try bench.event(.zapReceipt, tags: tags, by: try Workbench.keys())])
            #expect(told == (sender.publicKey == alice.publicKey ? ["a friend zaps"] : []))
        }
    }
}
