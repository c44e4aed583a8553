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
        #expect(Event.sample(kind: row.kind, tags: row.tags).relation(to: .alice).relation == row.relation)
    }
}
