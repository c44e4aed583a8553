import Foundation
import Nostr
import PlatformTestSupport
import Push
import Testing

@testable import Rules

/// The default texts, written here by hand.
@Suite struct DefaultRulesTests {
    private let book: RuleBook

    init() throws {
        book = try RuleBook.builtIn()
    }

    struct Expectation: Sendable, CustomTestStringConvertible {
        let kind: UInt16
        var content = ""
        let author: String
        var signal: Signal?
        let title: String
        let body: String

        var testDescription: String { "kind \(kind) '\(content)'" }
    }

    static let expectations: [Expectation] = [
        Expectation(kind: 7, content: "❤️", author: "alice", title: "⚡ alice liked your note", body: "❤️"),
        Expectation(kind: 7, content: "+", author: "alice", title: "⚡ alice liked your note", body: "+"),
        Expectation(kind: 7, content: "", author: "alice", title: "⚡ alice liked your note", body: "❤️"),
        Expectation(kind: 7, content: "🔥", author: "alice", title: "⚡ alice reacted to your note", body: "🔥"),
        Expectation(kind: 6, author: "bob", title: "🔄 bob reposted your note", body: "Your note was reposted"),
        Expectation(
            kind: 1809,
            author: "charlie",
            title: "🔄 charlie reposted your note",
            body: "Your note was reposted"
        ),
        Expectation(
            kind: 1,
            content: "Hey, check this out!",
            author: "dave",
            signal: .reply,
            title: "💬 dave sent you a note",
            body: "Hey, check this out!"
        ),
        Expectation(
            kind: 1808,
            content: "https://example.com/a.m4a",
            author: "eve",
            signal: .mention,
            title: "🎵 eve shared an audio note",
            body: "New audio content available"
        ),
        Expectation(kind: 3, author: "frank", title: "👤 frank started following you", body: "You have a new follower"),
        Expectation(
            kind: 1059,
            content: "ciphertext",
            author: "mallory",
            title: "🔒 You received an encrypted message",
            body: "You have a new encrypted message"
        ),
    ]

    @Test(arguments: expectations)
    func defaultTexts(_ expected: Expectation) throws {
        let input = Fixture.input(
            kind: expected.kind,
            content: expected.content,
            author: expected.author,
            signal: expected.signal
        )
        let notification = try #require(book.notification(for: input))
        #expect(notification.mode == .alert)
        #expect(notification.title == expected.title)
        #expect(notification.body == expected.body)
        #expect(notification.category == "kind_\(expected.kind)")
        #expect(
            try jsonObject(notification.native["ios"] ?? "") == ["badge": 1, "sound": "default", "mutable-content": 1]
        )
    }

    @Test func customKeysOfAnEvent() throws {
        let referenced = ReferencedEvent(
            id: Fixture.referencedID,
            kind: .textNote,
            content: String(repeating: "é", count: 101)
        )
        let input = Fixture.input(kind: 7, content: "+", referenced: referenced)
        let notification = try #require(book.notification(for: input))
        #expect(
            try jsonObject(notification.data) == [
                "event_id": Fixture.eventID.hex,
                "author_pubkey": Fixture.author.hex,
                "kind": 7,
                "created_at": 1_708_000_000,
                "referenced_event_id": Fixture.referencedID.hex,
                "referenced_event_kind": 1,
                "referenced_event_content": String(repeating: "é", count: 100) + "...",
            ]
        )
    }

    @Test func unknownReferencedEventLeavesOnlyItsID() throws {
        let input = Fixture.input(kind: 6, referenced: ReferencedEvent(id: Fixture.referencedID))
        let data = try jsonObject(try #require(book.notification(for: input)).data)
        #expect(data["referenced_event_id"] as? String == Fixture.referencedID.hex)
        #expect(data["referenced_event_kind"] == nil)
        #expect(data["referenced_event_content"] == nil)
    }

    @Test func directMessageNamesNoAuthor() throws {
        let notification = try #require(book.notification(for: Fixture.input(kind: 1059, author: "mallory")))
        #expect(!notification.title.contains("mallory") && !notification.body.contains("mallory"))
    }

    @Test(arguments: [30311, 22242, 10002, 0, 5, 9734] as [UInt16])
    func otherKindsSendNoPush(_ kind: UInt16) {
        #expect(book.notification(for: Fixture.input(kind: kind)) == nil)
        #expect(book.notifiableKinds?.contains(kind) == false)
    }

    @Test(
        arguments: [(7, Signal.reaction), (6, .repost), (1809, .repost), (3, .follow), (1059, .dm)]
            as [(UInt16, Signal)]
    )
    func wakeShowsOnlyTheSignal(_ kind: UInt16, _ signal: Signal) throws {
        let input = Fixture.input(kind: kind, content: "secret", referenced: ReferencedEvent(id: Fixture.referencedID))
        let notification = try #require(book.notification(for: input, mode: .wake))
        #expect(notification == .wake(signal, urgency: notification.urgency))
    }

    @Test func zapNamesItsSenderTheAmountAndTheComment() throws {
        var input = Fixture.input(kind: 9735, author: "alice")
        input.author = Fixture.sender
        input.zap = Fixture.zap(millisats: 21_000, comment: "Thank you!")
        let notification = try #require(book.notification(for: input))
        #expect(notification.signal == .zap)
        #expect(notification.title == "⚡ alice zapped you 21 sats")
        #expect(notification.body == "Thank you!")
        #expect(try jsonObject(notification.data)["author_pubkey"] as? String == Fixture.sender.hex)
    }

    /// Seed 000: `aps.alert.body` is always there.
    @Test(arguments: [1, 3, 4, 6, 7, 14, 1059, 1808, 1809, 9735, 21059] as [UInt16], ["", " \n", "\u{200B}\u{202E}"])
    func bodyIsNeverMissing(_ kind: UInt16, _ content: String) throws {
        var input = Fixture.input(kind: kind, content: content, signal: .mention)
        input.zap = kind == 9735 ? Fixture.zap(millisats: 21_000, comment: content) : nil
        let body = try #require(book.notification(for: input)).body
        #expect(body.contains { !$0.isWhitespace }, "\(body)")
    }

    @Test func reactionBodyIsCutLikeANote() throws {
        let input = Fixture.input(kind: 7, content: String(repeating: "🔥", count: 150))
        #expect(try #require(book.notification(for: input)).body == String(repeating: "🔥", count: 100) + "...")
    }

    @Test func longNoteIsCutAfterAHundredCharacters() throws {
        let input = Fixture.input(kind: 1, content: String(repeating: "👩‍👩‍👧", count: 150), signal: .mention)
        #expect(try #require(book.notification(for: input)).body == String(repeating: "👩‍👩‍👧", count: 100) + "...")
    }
}
