import Cipher
import Nostr
import Push
import Testing

@testable import Pipeline
@testable import Rules

@Suite struct RelevanceTests {
    private static let account = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private static let other = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private static let author = PublicKey(Bytes32(words: (0, 0, 0, 0)))
    private static let first = String(repeating: "0a", count: 32)
    private static let second = String(repeating: "0b", count: 32)

    private func event(_ kind: Kind, _ tags: [[String]], _ last: [String]? = nil) -> Event {
        let zero = Bytes32(words: (0, 0, 0, 0))
        return Event(
            id: EventID(zero),
            pubkey: Self.author,
            createdAt: 0,
            kind: kind,
            tags: tags + [["p", Self.account.hex]] + (last.map { [$0] } ?? []),
            content: "",
            signature: Signature(first: zero, second: zero)
        )
    }

    private func concern(_ kind: Kind, _ tags: [[String]]) throws -> Relevance {
        try .classify(event(kind, tags), for: Self.account)
    }

    private func id(_ hex: String) -> EventID? { EventID(hex: hex) }

    @Test func replyToTheAccountIsAReply() throws {
        let tags = [["e", Self.first, "", "root"], ["e", Self.second, "", "reply", Self.account.hex]]
        #expect(
            try concern(.textNote, tags)
                == Relevance(signal: .reply, relation: .reply, referencedID: id(Self.second), author: Self.author)
        )
    }

    @Test func replyToAnotherAuthorInTheThreadIsAMention() throws {
        let tags = [["e", Self.first, "", "root"], ["e", Self.second, "", "reply", Self.other.hex]]
        #expect(
            try concern(.textNote, tags)
                == Relevance(
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
        #expect(try concern(.textNote, []) == Relevance(signal: .mention, relation: .mention, author: Self.author))
    }

    @Test func quoteIsAMentionThatRefersToWhatItQuotes() throws {
        let tags = [["q", Self.first, "", Self.account.hex]]
        #expect(
            try concern(.textNote, tags)
                == Relevance(signal: .mention, relation: .quote, referencedID: id(Self.first), author: Self.author)
        )
    }

    /// Seed 000: an event reference in a note's `e` tag is always reported.
    @Test func aNoteThatOnlyMentionsAnEventRefersToIt() throws {
        let tags = [["e", Self.first, "", "mention"]]
        #expect(
            try concern(.textNote, tags)
                == Relevance(
                    signal: .mention,
                    relation: .mention,
                    referencedID: id(Self.first),
                    author: Self.author
                )
        )
        // The event that it answers or quotes comes first.
        let both = tags + [["q", Self.second, "", Self.account.hex]]
        #expect(try concern(.textNote, both).referencedID == id(Self.second))
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

    @Test func unknownKindHasNoDefaultSignal() throws {
        #expect(try concern(Kind(23194), []).signal == nil)
    }

    private func classify(
        _ kind: Kind,
        _ tags: [[String]],
        writtenBy authors: [PublicKey]? = nil
    ) throws -> Relevance {
        try .classify(event(kind, tags), for: Self.account) { $0.hex == Self.first ? authors : nil }
    }

    @Test func replyToUnknownParentLeavesItsAuthorOpen() throws {
        let tags = [["e", Self.first], ["p", Self.other.hex]]
        let guess = try classify(.textNote, tags)
        #expect(guess.signal == .reply && guess.openQuestion == id(Self.first))
        let known = try classify(.textNote, tags, writtenBy: [Self.other])
        #expect(known.signal == .mention && known.openQuestion == nil)
    }

    @Test(arguments: [Kind.repost, .audioRepost, .genericRepost])
    func repostThatNamesSeveralIsForTheAuthor(_ kind: Kind) throws {
        let tags = [["e", Self.first], ["p", Self.other.hex]]
        #expect(try classify(kind, tags).openQuestion == id(Self.first))
        #expect(try classify(kind, tags, writtenBy: [Self.account]).openQuestion == nil)
        #expect(throws: RelevanceError.notTarget) { try classify(kind, tags, writtenBy: [Self.other]) }
        #expect(try classify(kind, [["e", Self.first]]).openQuestion == nil)
    }

    @Test func reactionToAnotherAuthorsEventIsNotForTheAccount() throws {
        #expect(throws: RelevanceError.notTarget) {
            try classify(.reaction, [["e", Self.first]], writtenBy: [Self.other])
        }
        #expect(throws: RelevanceError.notTarget) {
            try Relevance.classify(
                event(.reaction, [["e", Self.first]], ["p", Self.other.hex]),
                for: Self.account
            )
        }
        #expect(
            try classify(.reaction, [["e", Self.first]], writtenBy: [Self.other, Self.account]).signal == .reaction
        )
    }

    @Test func zapsAuthorIsItsSender() throws {
        let sender = try KeyPair(random: SecureRandom.bytes)
        let request = try Event.signed(
            kind: .zapRequest,
            createdAt: 1,
            tags: [["p", Self.account.hex], ["e", Self.first]],
            by: sender
        )
        let tags = [["bolt11", "lnbc210n1pqqq"], ["description", String(decoding: request.json, as: UTF8.self)]]
        let concern = try classify(.zapReceipt, tags)
        #expect(concern.signal == .zap && concern.author == sender.publicKey)
        #expect(concern.zap?.millisats == 21_000 && concern.referencedID == id(Self.first))
        #expect(throws: RelevanceError.invalidZap(.noRequest)) { try classify(.zapReceipt, []) }
        #expect(throws: RelevanceError.invalidZap(.wrongRecipient)) {
            try Relevance.classify(event(.zapReceipt, tags), for: Self.other)
        }
    }

    @Test func zapToOneselfIsIrrelevant() throws {
        let owner = try KeyPair(random: SecureRandom.bytes)
        let request = try Event.signed(kind: .zapRequest, createdAt: 1, tags: [["p", owner.publicKey.hex]], by: owner)
        let tags = [
            ["p", owner.publicKey.hex], ["bolt11", "lnbc210n1pqqq"],
            ["description", String(decoding: request.json, as: UTF8.self)],
        ]
        var receipt = event(.zapReceipt, tags)
        receipt.tags.removeLast()
        #expect(throws: RelevanceError.ownZap) { try Relevance.classify(receipt, for: owner.publicKey) }
    }
}

/// Rules files are checked against the match stage's result for each kind.
@Suite struct EventSubjectTests {
    @Test func rulesKnowTheKindsThatHaveASignal() throws {
        let author = try Workbench.keys().publicKey
        let account = try Workbench.keys().publicKey
        let bench = try Workbench()
        let alice = try Workbench.keys()
        var event = try bench.event(.textNote, "", tags: [["p", account.hex]], by: alice)
        event.pubkey = author
        for number in UInt16.min...UInt16.max where Kind(number) != .zapReceipt {
            event.kind = Kind(number)
            let concern = try Relevance.classify(event, for: account)
            #expect((concern.signal != nil) == EventSubject.allKinds.contains(number), "kind \(number)")
            if let signal = concern.signal {
                #expect(EventSubject.kinds(of: signal).contains(number), "kind \(number)")
            }
            #expect((concern.relation == nil) == EventSubject.kindsWithoutRelation.contains(number), "kind \(number)")
        }
        #expect(EventSubject.allKinds.contains(Kind.zapReceipt.rawValue))
        let all = Signal.wellKnown.reduce(into: Set<UInt16>()) { $0.formUnion(EventSubject.kinds(of: $1)) }
        #expect(all == EventSubject.allKinds)
    }
}
