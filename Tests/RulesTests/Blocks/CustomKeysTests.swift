import Foundation
import Nostr
import Notifications
import PlatformTestSupport
import Testing
import TimeTestSupport
import Units

@testable import Rules

/// `data`, `event_data` and `expires`.
@Suite struct CustomKeysTests {
    @Test func ownKeysStandBesideTheEvents() throws {
        let data = try jsonObject(
            try BlockFixture.render("data: { from: \"{{author.name}}\", list: [1, \"{{event.kind}}\"] }").data
        )
        #expect(
            data == [
                "event_id": Fixture.eventID.hex, "author_pubkey": Fixture.author.hex, "kind": 7,
                "created_at": 1_708_000_000, "from": "alice", "list": [1, "7"],
            ]
        )
    }

    /// Plugins refuse more for good.
    @Test func thereAreAtMostAsManyAsPluginsTake() {
        func keys(_ count: Int) -> String { (1...count).map { "k\($0): 1" }.joined(separator: ", ") }
        #expect(BlockFixture.mistakes("data: { \(keys(249)) }").isEmpty)
        #expect(BlockFixture.mistakes("data: { \(keys(250)) }").count == 1)
        #expect(BlockFixture.mistakes("event_data: false, data: { \(keys(256)) }").isEmpty)
        #expect(
            BlockFixture.mistakes("event_data: false, data: { \(keys(257)) }") == [
                "rules[0].data: expected at most 256 keys; put further ones into an object under one of them"
            ]
        )
    }

    @Test func theEventsKeysCanBeLeftOut() throws {
        #expect(try BlockFixture.render("event_data: false").data.isEmpty)
        #expect(try BlockFixture.render("event_data: false, data: {}").data.isEmpty)
        #expect(try BlockFixture.render("event_data: false, data: { event_id: x }").data == #"{"event_id":"x"}"#)
    }

    @Test(
        arguments: [
            ("title: t", true), ("event_data: false", false),
            ("event_data: false, title: \"{{referenced.id}}\"", false),
            ("event_data: false, title: \"{{referenced.content}}\"", true),
            ("event_data: false, data: { k: \"{{referenced.kind}}\" }", true),
        ]
    )
    func referencedEventIsNeededWhereSomethingTellsOfIt(_ keys: String, _ isNeeded: Bool) throws {
        let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
        let needs = try #require(book.rules.first).needs(in: .alert)
        #expect(needs.contains(.referencedEvent) == isNeeded)
    }

    @Test func nameIsNeededWhereABlockSpeaksOfIt() throws {
        func needs(_ keys: String) throws -> RuleNeeds {
            let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
            return try #require(book.rules.first).needs(in: .alert)
        }
        #expect(try needs("title: t").contains(.authorName) == false)
        #expect(try needs("title: t, data: { who: \"{{author.name}}\" }").contains(.authorName))
        #expect(try needs("title: t, webpush: { tag: \"{{author.name}}\" }").contains(.authorName))
    }

    @Test(
        arguments: [("1m", .minutes(1)), ("28d", .days(28)), ("1d12h", .hours(36)), ("90s", .seconds(90))]
            as [(String, Duration)]
    )
    func expiresFromNowInEveryMode(_ text: String, _ span: Duration) throws {
        for mode in Mode.allCases {
            let notification = try BlockFixture.render("title: t, expires: \(text)", mode: mode)
            #expect(notification.expiresAt == BlockFixture.now + span)
        }
    }

    @Test func transportDecidesWhereTheRuleSaysNothing() throws {
        #expect(try BlockFixture.render("title: t").expiresAt == 0)
        #expect(try BlockFixture.render("title: t, expires: 4h", now: 0).expiresAt == 0)
    }
}
