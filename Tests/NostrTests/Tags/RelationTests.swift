import Testing

@testable import Nostr

/// Reply, quote or mention, for Alice.
@Suite struct RelationTests {
    private static let a = EventID.first.hex
    private static let alice = PublicKey.alice.hex
    private static let bob = PublicKey.bob.hex

    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var kind = Kind.textNote
        let tags: [[String]]
        let relation: Relation?
    }

    private static let rows = [
        Row(testDescription: "nothing", tags: [], relation: nil),
        Row(testDescription: "somebody else", tags: [["p", bob]], relation: nil),
        Row(testDescription: "a p tag", tags: [["p", bob], ["p", alice]], relation: .mention),
        Row(testDescription: "an answer by its tag", tags: [["e", a, "", "reply", alice]], relation: .reply),
        Row(
            testDescription: "an answer, nothing known of its author",
            tags: [["e", a], ["p", alice]],
            relation: .reply
        ),
        Row(
            testDescription: "an answer to another",
            tags: [["e", a, "", "root", bob], ["p", alice]],
            relation: .mention
        ),
        Row(testDescription: "an answer to another, not named", tags: [["e", a, "", "root", bob]], relation: nil),
        Row(testDescription: "a quote by its tag", tags: [["q", a, "", alice]], relation: .quote),
        Row(
            testDescription: "a quote, nothing known of its author",
            tags: [["q", a], ["p", alice]],
            relation: .quote
        ),
        Row(testDescription: "a quote of another", tags: [["q", a, "", bob], ["p", alice]], relation: .mention),
        Row(testDescription: "a quote of an address", tags: [["q", "30023:\(alice):x"]], relation: .quote),
        Row(
            testDescription: "a quote in an answer to another",
            tags: [["e", a, "", "root", bob], ["q", a, "", alice]],
            relation: .quote
        ),
        Row(
            testDescription: "a quote by its tag before a guessed answer",
            tags: [["e", a], ["q", a, "", alice], ["p", alice]],
            relation: .quote
        ),
        Row(
            testDescription: "a comment",
            kind: .comment,
            tags: [["E", a, "", bob], ["e", a, "", alice], ["p", alice]],
            relation: .reply
        ),
        Row(
            testDescription: "a comment on an article",
            kind: .comment,
            tags: [["a", "30023:\(alice):x"], ["p", alice]],
            relation: .reply
        ),
        Row(
            testDescription: "a comment on a web page",
            kind: .comment,
            tags: [["i", "https://example.com"], ["p", alice]],
            relation: .mention
        ),
        Row(
            testDescription: "a reaction is no answer",
            kind: .reaction,
            tags: [["e", a], ["p", alice]],
            relation: .mention
        ),
    ]

    @Test(arguments: rows)
    private func tellsReplyQuoteAndMentionApart(_ row: Row) {
        let event = Event.sample(kind: row.kind, tags: row.tags)
        #expect(EventRelations(event).relation(to: .alice).relation == row.relation)
    }

    private struct Known: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var kind = Kind.textNote
        let tags: [[String]]
        /// Who wrote the event `a`, and whom they say to speak for; nil when it is not known.
        let authors: [PublicKey]?
        let finding: RelationFinding
    }

    private static let both = [["p", alice], ["p", bob]]
    private static let known = [
        Known(
            testDescription: "an answer, several named",
            tags: [["e", a]] + both,
            authors: nil,
            finding: RelationFinding(relation: .reply, openQuestion: .first)
        ),
        Known(
            testDescription: "an answer to Alice, several named",
            tags: [["e", a]] + both,
            authors: [.alice],
            finding: RelationFinding(relation: .reply)
        ),
        Known(
            testDescription: "an answer to Bob, several named",
            tags: [["e", a]] + both,
            authors: [.bob],
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "an answer to Alice's device",
            tags: [["e", a]] + both,
            authors: [.carol, .alice],
            finding: RelationFinding(relation: .reply)
        ),
        Known(
            testDescription: "an answer to Bob that names Alice alone",
            tags: [["e", a], ["p", alice]],
            authors: [.bob],
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "Alice named twice",
            tags: [["e", a], ["p", alice], ["p", alice]],
            authors: nil,
            finding: RelationFinding(relation: .reply)
        ),
        Known(
            testDescription: "a tag that lies about the author",
            tags: [["e", a, "", "reply", alice]] + both,
            authors: [.bob],
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "a tag that names the author",
            tags: [["e", a, "", "reply", bob]] + both,
            authors: nil,
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "a quote, several named",
            tags: [["q", a]] + both,
            authors: nil,
            finding: RelationFinding(relation: .quote, openQuestion: .first)
        ),
        Known(
            testDescription: "a quote of Bob, several named",
            tags: [["q", a]] + both,
            authors: [.bob],
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "a comment, whose first p is the parent's author",
            kind: .comment,
            tags: [["e", a]] + both,
            authors: nil,
            finding: RelationFinding(relation: .reply)
        ),
        Known(
            testDescription: "a comment to another, whose first p is the parent's author",
            kind: .comment,
            tags: [["e", a], ["p", bob], ["p", alice]],
            authors: nil,
            finding: RelationFinding(relation: .mention)
        ),
        Known(
            testDescription: "nothing to answer",
            tags: both,
            authors: nil,
            finding: RelationFinding(relation: .mention)
        ),
    ]

    @Test(arguments: known)
    private func whoWroteTheParentDecides(_ row: Known) {
        let event = Event.sample(kind: row.kind, tags: row.tags)
        let finding = EventRelations(event).relation(to: .alice) { $0 == .first ? row.authors : nil }
        #expect(finding == row.finding)
    }

    @Test func whatIsQuotedWithoutEndIsNotAskedAboutWithoutEnd() {
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
