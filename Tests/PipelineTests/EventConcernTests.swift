import Cipher
import Nostr
import Notifications
import Testing

@testable import Pipeline

@Suite struct EventConcernTests {
    private static let account = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private static let other = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private static let author = PublicKey(Bytes32(words: (0, 0, 0, 0)))
    private static let first = String(repeating: "0a", count: 32)
    private static let second = String(repeating: "0b", count: 32)

    private func concern(_ kind: Kind, _ tags: [[String]]) throws -> EventConcern {
        let zero = Bytes32(words: (0, 0, 0, 0))
        let event = Event(
            id: EventID(zero),
            pubkey: PublicKey(zero),
            createdAt: 0,
            kind: kind,
            tags: tags + [["p", Self.account.hex]],
            content: "",
            signature: Signature(first: zero, second: zero)
        )
        return try .classify(event, for: Self.account)
    }

    private func id(_ hex: String) -> EventID? { EventID(hex: hex) }

    @Test func replyToTheAccountIsAReply() throws {
        let tags = [["e", Self.first, "", "root"], ["e", Self.second, "", "reply", Self.account.hex]]
        #expect(
            try concern(.textNote, tags)
                == EventConcern(signal: .reply, relation: .reply, referencedID: id(Self.second), author: Self.author)
        )
    }

    @Test func replyToSomebodyElseInTheThreadIsAMention() throws {
        let tags = [["e", Self.first, "", "root"], ["e", Self.second, "", "reply", Self.other.hex]]
        #expect(
            try concern(.textNote, tags)
                == EventConcern(
                    signal: .mention,
                    relation: .mention,
                    referencedID: id(Self.second),
                    author: Self.author
                )
        )
    }

    @Test func positionalReplyWithoutAuthorIsAReply() throws {
        #expect(try concern(.textNote, [["e", Self.first], ["e", Self.second]]).signal == .reply)
    }

    @Test func noteThatOnlyNamesTheAccountIsAMention() throws {
        #expect(try concern(.textNote, []) == EventConcern(signal: .mention, relation: .mention, author: Self.author))
    }

    @Test func quoteIsAMentionThatRefersToWhatItQuotes() throws {
        let tags = [["q", Self.first, "", Self.account.hex]]
        #expect(
            try concern(.textNote, tags)
                == EventConcern(signal: .mention, relation: .quote, referencedID: id(Self.first), author: Self.author)
        )
    }

    @Test func commentOnTheAccountIsAReply() throws {
        let tags = [["E", Self.first], ["K", "1"], ["e", Self.first, "", Self.account.hex], ["k", "1"]]
        #expect(try concern(.comment, tags).signal == .reply)
    }

    @Test(
        arguments: [
            (4, Signal.dm), (14, .dm), (1059, .dm), (21059, .dm), (3, .follow), (6, .repost), (16, .repost),
            (1809, .repost),
        ] as [(UInt16, Signal)]
    )
    func kindDecides(_ kind: UInt16, _ signal: Signal) throws {
        #expect(try concern(Kind(kind), []).signal == signal)
    }

    @Test func unknownKindHasNoSignalOfItsOwn() throws {
        #expect(try concern(Kind(23194), []).signal == nil)
    }
}
