import Testing

@testable import Nostr

/// Reply, quote or mention, for Alice.
@Suite struct RelationTests {
    private static let a = EventID.first.hex
    private static let alice = PublicKey.alice.hex
    private static let bob = PublicKey.bob.hex

    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let kind: Kind
        let tags: [[String]]
        let relation: Relation?

        init(_ description: String, kind: Kind = .textNote, _ tags: [[String]], _ relation: Relation?) {
            (testDescription, self.kind, self.tags, self.relation) = (description, kind, tags, relation)
        }
    }

    private static let rows = [
        Row("nothing", [], nil),
        Row("somebody else", [["p", bob]], nil),
        Row("a p tag", [["p", bob], ["p", alice]], .mention),
        Row("an answer by its tag", [["e", a, "", "reply", alice]], .reply),
        Row("an answer, nothing known of its author", [["e", a], ["p", alice]], .reply),
        Row("an answer to another", [["e", a, "", "root", bob], ["p", alice]], .mention),
        Row("an answer to another, not named", [["e", a, "", "root", bob]], nil),
        Row("a quote by its tag", [["q", a, "", alice]], .quote),
        Row("a quote, nothing known of its author", [["q", a], ["p", alice]], .quote),
        Row("a quote of another", [["q", a, "", bob], ["p", alice]], .mention),
        Row("a quote of an address", [["q", "30023:\(alice):x"]], .quote),
        Row("a quote in an answer to another", [["e", a, "", "root", bob], ["q", a, "", alice]], .quote),
        Row("a quote by its tag before a guessed answer", [["e", a], ["q", a, "", alice], ["p", alice]], .quote),
        Row("a comment", kind: .comment, [["E", a, "", bob], ["e", a, "", alice], ["p", alice]], .reply),
        Row("a comment on an article", kind: .comment, [["a", "30023:\(alice):x"], ["p", alice]], .reply),
        Row("a comment on a web page", kind: .comment, [["i", "https://example.com"], ["p", alice]], .mention),
        Row("a reaction is no answer", kind: .reaction, [["e", a], ["p", alice]], .mention),
    ]

    @Test(arguments: rows)
    private func replyQuoteAndMentionAreDistinguished(_ row: Row) {
        let event = Event.sample(kind: row.kind, tags: row.tags)
        #expect(EventRelations(event).relation(to: .alice).relation == row.relation)
    }

    private struct Known: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let kind: Kind
        let tags: [[String]]
        let authors: [PublicKey]?
        let finding: RelationMatch

        /// `authors` signed the event `a`, or are the authors that it claims to act for; nil if unknown.
        init(
            _ description: String,
            kind: Kind = .textNote,
            _ tags: [[String]],
            _ authors: [PublicKey]?,
            _ relation: Relation,
            asks question: EventID? = nil
        ) {
            (testDescription, self.kind, self.tags, self.authors) = (description, kind, tags, authors)
            finding = RelationMatch(relation: relation, openQuestion: question)
        }
    }

    private static let both = [["p", alice], ["p", bob]]
    private static let known = [
        Known("an answer, several named", [["e", a]] + both, nil, .reply, asks: .first),
        Known("an answer to Alice, several named", [["e", a]] + both, [.alice], .reply),
        Known("an answer to Bob, several named", [["e", a]] + both, [.bob], .mention),
        Known("an answer to Alice's device", [["e", a]] + both, [.carol, .alice], .reply),
        Known("an answer to Bob that names Alice alone", [["e", a], ["p", alice]], [.bob], .mention),
        Known("Alice named twice", [["e", a], ["p", alice], ["p", alice]], nil, .reply),
        Known("a tag that lies about the author", [["e", a, "", "reply", alice]] + both, [.bob], .mention),
        Known("a tag that names the author", [["e", a, "", "reply", bob]] + both, nil, .mention),
        Known("a quote, several named", [["q", a]] + both, nil, .quote, asks: .first),
        Known("a quote of Bob, several named", [["q", a]] + both, [.bob], .mention),
        Known("a comment, whose first p is the parent's author", kind: .comment, [["e", a]] + both, nil, .reply),
        Known(
            "a comment to another, whose first p is the parent's author",
            kind: .comment,
            [["e", a], ["p", bob], ["p", alice]],
            nil,
            .mention
        ),
        Known("nothing to answer", both, nil, .mention),
    ]

    @Test(arguments: known)
    private func parentsAuthorDecidesTheRelation(_ row: Known) {
        let event = Event.sample(kind: row.kind, tags: row.tags)
        let finding = EventRelations(event).relation(to: .alice) { $0 == .first ? row.authors : nil }
        #expect(finding == row.finding)
    }

    @Test func lookupsOfQuotedEventsAreLimited() {
        let quotes = (0..<1000).map { ["q", EventID(Bytes32(words: (UInt64($0), 1, 1, 1))).hex] }
        let event = Event.sample(kind: .textNote, tags: [["p", PublicKey.alice.hex]] + quotes)
        var asked = 0
        let finding = EventRelations(event).relation(to: .alice) { _ in
            asked += 1
            return nil
        }
        #expect(asked == 16)
        #expect(finding.relation == .quote)
    }
}
