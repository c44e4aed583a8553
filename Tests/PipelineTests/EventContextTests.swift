import Cipher
import Core
import Foundation
import Logging
import Nostr
import Push
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

@Suite struct EventContextTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let keys: KeyPair
    private let noteID = EventID(Bytes32(words: (1, 2, 3, 4)))
    /// One character of Unicode in 100,001 bytes.
    private let tower = "a" + String(repeating: "\u{301}", count: 50_000)

    init() throws {
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    private func profile(_ content: String, createdAt: Int64 = 1) throws -> Event {
        try Event.signed(kind: .profile, createdAt: createdAt, content: content, by: keys)
    }

    private func concern(referenced: EventID? = nil, openQuestion: EventID? = nil) -> Relevance {
        Relevance(
            signal: .reaction,
            openQuestion: openQuestion,
            referencedID: referenced,
            author: keys.publicKey
        )
    }

    @Test func rememberedContextIsBoundedInBytes() throws {
        var context = EventContext()
        let note = try Event.signed(kind: .textNote, createdAt: 1, content: "see " + tower, by: keys)
        context.learn(note, at: 0)
        #expect(context.referenced(note.id).content == "see ")
        context.learn(try profile(#"{"display_name":"\#(tower)","name":"al\#(tower)"}"#), at: 0)
        #expect(context.name(of: keys.publicKey) == "al")
    }

    @Test(arguments: [
        (#"{"handle":"h","username":"u","name":"n","displayName":"D","display_name":"d"}"#, "d"),
        (#"{"handle":"h","username":"u","name":"n","displayName":"D"}"#, "D"),
        (#"{"handle":"h","username":"u","name":"n"}"#, "n"),
        (#"{"handle":"h","username":"u"}"#, "u"),
        (#"{"handle":"h"}"#, "h"),
        (#"{"name":"\ud83d\ude00 ok \ud83d"}"#, "😀 ok \u{FFFD}"), (#"{"name":"n","followers":1e999}"#, "n"),
        (#"{"name":"first","name":"second"}"#, "second"),
        (#"{"display_name":"","displayName":" \n","name":7,"username":null,"handle":" h "}"#, "h"),
    ])
    func namesAreSoughtInTheOrderOfPreference(_ content: String, _ name: String) throws {
        var context = EventContext()
        context.learn(try profile(content), at: 0)
        #expect(context.name(of: keys.publicKey) == name)
    }

    @Test(arguments: ["", "{}", "[]", "no JSON", #"{"name":""}"#, #"{"about":"x"}"#])
    func eightDigitsReplaceAMissingName(_ content: String) throws {
        var context = EventContext()
        context.learn(try profile(content), at: 0)
        #expect(context.name(of: keys.publicKey) == keys.publicKey.hex.prefix(8) + "...")
    }

    @Test func newerProfileStays() throws {
        var context = EventContext()
        context.learn(try profile(#"{"name":"new"}"#, createdAt: 2), at: 0)
        context.learn(try profile(#"{"name":"old"}"#, createdAt: 1), at: 1)
        #expect(context.name(of: keys.publicKey) == "new")
    }

    @Test func missingContextIsNeededByTheRuleAndUnknown() throws {
        var context = EventContext()
        let concern = concern(referenced: noteID)
        let all: RuleNeeds = [.authorName, .referencedEvent]
        #expect(context.missing([], of: concern, at: Self.noon).isEmpty)
        #expect(
            context.missing(all, of: concern, at: Self.noon)
                == ContextWants(profiles: [keys.publicKey], events: [noteID])
        )
        context.learn(try profile("{}"), at: Self.noon)
        #expect(context.missing(all, of: concern, at: Self.noon) == ContextWants(events: [noteID]))
        let note = try Event.signed(kind: Kind(30402), createdAt: 1, content: "An offer", by: keys)
        context.learn(note, at: Self.noon)
        #expect(context.authors(of: note.id) == nil)
        context.learn(fetched: note, at: Self.noon)
        #expect(context.missing(all, of: self.concern(referenced: note.id), at: Self.noon).isEmpty)
        #expect(
            context.referenced(note.id)
                == ReferencedEvent(id: note.id, kind: Kind(30402), content: "An offer", author: keys.publicKey)
        )
    }

    @Test(arguments: [1, 4, 1111, 1808, 30023] as [UInt16])
    func referencedEventSeenEarlierIsKnown(_ kind: UInt16) throws {
        var context = EventContext()
        let event = try Event.signed(kind: Kind(kind), createdAt: 1, content: "words", by: keys)
        context.learn(event, at: Self.noon)
        let known = ReferencedEvent(id: event.id, kind: Kind(kind), content: "words", author: keys.publicKey)
        #expect(context.referenced(event.id) == known)
        #expect(context.missing(.referencedEvent, of: concern(referenced: event.id), at: Self.noon).isEmpty)
    }

    @Test func openQuestionIsAlwaysMissingContext() {
        var context = EventContext()
        #expect(context.missing([], of: concern(openQuestion: noteID), at: 0) == ContextWants(events: [noteID]))
    }

    @Test func unavailableContextIsNotMissingAgainForTenMinutes() {
        var context = EventContext()
        let concern = concern(referenced: noteID)
        let all: RuleNeeds = [.authorName, .referencedEvent]
        let wants = context.missing(all, of: concern, at: Self.noon)
        context.noteAsked(wants, at: Self.noon)
        #expect(context.missing(all, of: concern, at: Self.noon + .milliseconds(599_999)).isEmpty)
        #expect(context.missing(all, of: concern, at: Self.noon + .minutes(10)) == wants)
    }

    @Test func oldProfileIsFetchedAgainAndUsedUntilThen() throws {
        var context = EventContext()
        let wanted = ContextWants(profiles: [keys.publicKey])
        let profile = try profile(#"{"name":"alice"}"#)
        context.learn(profile, at: Self.noon)
        #expect(context.missing(.authorName, of: concern(), at: Self.noon + .days(7) - .milliseconds(1)).isEmpty)
        #expect(context.missing(.authorName, of: concern(), at: Self.noon + .days(7)) == wanted)
        #expect(context.name(of: keys.publicKey) == "alice")
        context.learn(fetched: profile, at: Self.noon + .days(7))
        #expect(context.missing(.authorName, of: concern(), at: Self.noon + .days(8)).isEmpty)
    }

    @Test func anonymousSenderIsNotLookedFor() throws {
        var context = EventContext()
        let request = try Event.signed(
            kind: .zapRequest,
            createdAt: 1,
            tags: [["p", String(repeating: "0a", count: 32)], ["anon"]],
            by: keys
        )
        let receipt = try Event.signed(
            kind: .zapReceipt,
            createdAt: 1,
            tags: [
                ["p", String(repeating: "0a", count: 32)], ["bolt11", "lnbc210n1pqqq"],
                ["description", String(decoding: request.json, as: UTF8.self)],
            ],
            by: keys
        )
        var concern = concern()
        concern.zap = try ZapReceipt(receipt)
        #expect(context.missing(.authorName, of: concern, at: 0).isEmpty)
        #expect(context.name(of: concern) == "Anonymous")
    }

    @Test func repostedNoteIsLearned() throws {
        var context = EventContext()
        let note = try Event.signed(kind: .textNote, createdAt: 1, content: "hello", by: keys)
        let json = String(decoding: note.json, as: UTF8.self)
        context.learn(
            try Event.signed(kind: .repost, createdAt: 2, tags: [["e", note.id.hex]], content: json, by: keys),
            at: 0
        )
        #expect(context.referenced(note.id).content == "hello")
        #expect(context.authors(of: note.id) == [keys.publicKey])
    }

    @Test func deviceActsForItsRoot() throws {
        var context = EventContext()
        let root = PublicKey(Bytes32(words: (9, 9, 9, 9)))
        let note = try Event.signed(kind: .textNote, createdAt: 1, tags: [["root_identity", root.hex]], by: keys)
        context.learn(note, at: 0)
        #expect(context.authors(of: note.id) == [keys.publicKey, root])
    }
}
