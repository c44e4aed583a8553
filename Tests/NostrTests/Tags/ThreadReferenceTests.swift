import Testing

@testable import Nostr

/// The forms of NIP-10, one row each.
@Suite struct ThreadReferenceTests {
    private static let a = EventID.first.hex
    private static let b = EventID.second.hex
    private static let c = EventID.third.hex
    private static let key = PublicKey.alice.hex

    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let tags: [[String]]
        let root: EventID?
        let parent: EventID?
    }

    private static let rows = [
        Row(testDescription: "no e tags", tags: [["p", key], ["e"]], root: nil, parent: nil),
        Row(testDescription: "a value that is no id", tags: [["e", "nonsense", "", "root"]], root: nil, parent: nil),
        Row(testDescription: "a root alone is answered", tags: [["e", a, "", "root"]], root: .first, parent: .first),
        Row(
            testDescription: "root and reply in either order",
            tags: [["e", b, "", "reply"], ["e", a, "", "root"]],
            root: .first,
            parent: .second
        ),
        Row(testDescription: "a reply without root", tags: [["e", b, "", "reply"]], root: nil, parent: .second),
        Row(
            testDescription: "unmarked tags beside marked ones are mentions",
            tags: [["e", a, "", "root"], ["e", c], ["e", b, "", "reply"], ["e", c]],
            root: .first,
            parent: .second
        ),
        Row(testDescription: "mentions alone", tags: [["e", a, "", "mention"]], root: nil, parent: nil),
        Row(testDescription: "one unmarked", tags: [["e", a]], root: .first, parent: .first),
        Row(testDescription: "two unmarked", tags: [["e", a], ["e", b, "wss://x"]], root: .first, parent: .second),
        Row(
            testDescription: "three unmarked",
            tags: [["e", a], ["e", b], ["e", c, "", ""]],
            root: .first,
            parent: .third
        ),
        Row(
            testDescription: "a mention does not count among unmarked ones",
            tags: [["e", a], ["e", b, "", "mention"]],
            root: .first,
            parent: .first
        ),
    ]

    @Test(arguments: rows)
    private func readsTheFormsOfNIP10(_ row: Row) {
        let thread = Event.sample(tags: row.tags).thread
        #expect(thread?.root?.id == row.root)
        #expect(thread?.parent.id == row.parent)
    }

    @Test func keepsTheHints() {
        let marked = Event.sample(tags: [["e", Self.a, "wss://r", "reply", Self.key]]).thread?.parent
        #expect(marked == EventReference(id: .first, relay: "wss://r", author: .alice))
        let unmarked = Event.sample(tags: [["e", Self.a, "", Self.key]]).thread?.parent
        #expect(unmarked == EventReference(id: .first, relay: nil, author: .alice))
    }
}
