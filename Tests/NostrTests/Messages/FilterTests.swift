import Testing

@testable import Nostr

@Suite struct FilterTests {
    private static let event = Event.sample(
        kind: .reaction,
        by: .alice,
        createdAt: 100,
        tags: [["t", "a", "z"], ["t"], ["p", PublicKey.bob.hex], ["xy", "v"]]
    )

    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let filter: Filter
        let matches: Bool
    }

    private static let rows = [
        Row(testDescription: "everything", filter: Filter(), matches: true),
        Row(testDescription: "id", filter: Filter(ids: [.first, .second]), matches: true),
        Row(testDescription: "other id", filter: Filter(ids: [.second]), matches: false),
        Row(testDescription: "no id", filter: Filter(ids: []), matches: false),
        Row(testDescription: "author", filter: Filter(authors: [.alice]), matches: true),
        Row(testDescription: "other author", filter: Filter(authors: [.bob]), matches: false),
        Row(testDescription: "kind", filter: Filter(kinds: [.reaction]), matches: true),
        Row(testDescription: "other kind", filter: Filter(kinds: [.textNote]), matches: false),
        Row(testDescription: "since now", filter: Filter(since: 100), matches: true),
        Row(testDescription: "since later", filter: Filter(since: 101), matches: false),
        Row(testDescription: "until now", filter: Filter(until: 100), matches: true),
        Row(testDescription: "until before", filter: Filter(until: 99), matches: false),
        Row(testDescription: "tag", filter: Filter(tags: ["t": ["b", "a"]]), matches: true),
        Row(testDescription: "only the first value", filter: Filter(tags: ["t": ["z"]]), matches: false),
        Row(testDescription: "case of the letter", filter: Filter(tags: ["T": ["a"]]), matches: false),
        Row(testDescription: "no value", filter: Filter(tags: ["t": []]), matches: false),
        Row(
            testDescription: "both tags",
            filter: Filter(tags: ["t": ["a"], "p": [PublicKey.bob.hex]]),
            matches: true
        ),
        Row(
            testDescription: "one tag of two",
            filter: Filter(tags: ["t": ["a"], "p": [PublicKey.alice.hex]]),
            matches: false
        ),
        Row(testDescription: "letters that begin a name", filter: Filter(tags: ["x": ["v"]]), matches: false),
        Row(testDescription: "limit has no part", filter: Filter(limit: 0), matches: true),
        Row(testDescription: "all must hold", filter: Filter(authors: [.alice], kinds: [.textNote]), matches: false),
    ]

    @Test(arguments: rows)
    private func matchesAsNIP01Says(_ row: Row) {
        #expect(row.filter.matches(Self.event) == row.matches)
    }
}
