import Cipher
import Testing

@testable import Nostr

@Suite struct TagTests {
    private let a = EventID.first.hex
    private let b = EventID.second.hex
    private let alice = PublicKey.alice.hex
    private let bob = PublicKey.bob.hex

    @Test func readsFirstValues() {
        let event = Event.sample(tags: [
            ["t"], ["t", "a", "x"], ["p", bob], ["p", "bob"], ["p", bob.uppercased()], ["t", "b"],
        ])
        #expect(event.value(of: "t") == "a")
        #expect(event.values(of: "t") == ["a", "b"])
        #expect(event.value(of: "d") == nil)
        #expect(event.identifier.isEmpty)
        #expect(event.mentionedKeys == [.bob])
    }

    @Test(arguments: [
        ("1000", 999, false), ("1000", 1000, true), ("0", 1, true), ("soon", Int64.max, false), ("", Int64.max, false),
    ])
    func expirationFollowsNIP40(_ value: String, _ now: Int64, _ isExpired: Bool) {
        #expect(Event.sample(tags: [["expiration", value]]).isExpired(at: now) == isExpired)
        #expect(!Event.sample().isExpired(at: now))
    }

    @Test func addressesAreReadAndWritten() {
        let text = "30023:\(alice):a:b"
        #expect(EventAddress(text) == EventAddress(kind: Kind(30023), pubkey: .alice, identifier: "a:b"))
        #expect(EventAddress(text)?.description == text)
        #expect(EventAddress("0:\(alice):")?.identifier == "")
        for wrong in ["", "0:\(alice)", "x:\(alice):", "65536:\(alice):", "0:\(alice.uppercased()):", "0::"] {
            #expect(EventAddress(wrong) == nil)
        }
        #expect(Event.sample(kind: Kind(30023), by: .alice, tags: [["d", "a:b"]]).address.description == text)
    }

    @Test func quotesAreReadInTheirOrder() {
        let tags = [["q", a, "wss://r", alice], ["q", "30023:\(bob):x"], ["q", "nonsense"], ["q"]]
        let quotes = Event.sample(tags: tags).quotes
        #expect(
            quotes == [
                .event(EventReference(id: .first, relay: "wss://r", author: .alice)),
                .address(EventAddress(kind: Kind(30023), pubkey: .bob, identifier: "x")),
            ]
        )
    }

    @Test func commentsHaveRootAndParent() throws {
        let tags = [
            ["A", "30023:\(alice):x"], ["E", b], ["K", "30023"], ["P", alice], ["e", a, "", bob], ["k", "1111"],
            ["p", bob],
        ]
        let comment = try #require(Event.sample(kind: .comment, tags: tags).comment)
        #expect(comment.root == .event(EventReference(id: .second)))
        #expect(comment.parent == .event(EventReference(id: .first, author: .bob)))
        #expect(comment.parentKind == .comment)
        #expect(comment.parentAuthor == .bob)
        #expect(Event.sample(kind: .textNote, tags: tags).comment == nil)
        let page = Event.sample(kind: .comment, tags: [["I", "https://x"], ["i", "https://x"], ["k", "web"]]).comment
        #expect(page?.root == .external("https://x"))
        #expect(page?.parentKind == nil)
        #expect(page?.parentAuthor == nil)
    }

    @Test func reactionTargetsTheLastTag() throws {
        let tags = [["e", a], ["p", bob], ["e", b, "wss://r"], ["p", alice], ["k", "1"], ["a", "30023:\(bob):x"]]
        let target = try #require(Event.sample(kind: .reaction, tags: tags).reactionTarget)
        #expect(target.event == EventReference(id: .second, relay: "wss://r"))
        #expect(target.author == .alice)
        #expect(target.kind == .textNote)
        #expect(target.address?.identifier == "x")
        #expect(Event.sample(kind: .reaction, tags: [["e", a, "", bob]]).reactionTarget?.author == .bob)
        #expect(Event.sample(kind: .reaction, tags: [["p", bob]]).reactionTarget == nil)
        #expect(Event.sample(kind: .textNote, tags: tags).reactionTarget == nil)
    }

    @Test func repostContainsItsEvent() throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let note = try Event.signed(kind: .textNote, createdAt: 1, content: "hello", by: keys)
        let json = String(decoding: note.json, as: UTF8.self)
        let repost = Event.sample(kind: .repost, tags: [["e", note.id.hex]], content: json)
        #expect(repost.repostedID == note.id)
        #expect(repost.reposted == note)
        var forged = note
        forged.content = "goodbye"
        for content in ["", "{}", String(decoding: forged.json, as: UTF8.self)] {
            #expect(Event.sample(kind: .repost, tags: [["e", note.id.hex]], content: content).reposted == nil)
        }
        #expect(Event.sample(kind: .repost, tags: [["e", a]], content: json).reposted == nil)
        #expect(Event.sample(kind: .textNote, tags: [["e", note.id.hex]], content: json).repostedID == nil)
    }
}

@Suite struct ListTagTests {
    @Test func relayListsDistinguishReadAndWrite() {
        let list = RelayList(
            Event.sample(
                kind: .relayList,
                tags: [
                    ["r", "wss://both"], ["r", "wss://read", "read"], ["r", "wss://write", "write"], ["r"],
                    ["r", "wss://other", "other"], ["relay", "wss://no"], ["r", "wss://blank", ""],
                ]
            )
        )
        #expect(list.read == ["wss://both", "wss://read", "wss://blank"])
        #expect(list.write == ["wss://both", "wss://write", "wss://blank"])
    }

    @Test func deviceListsNameKeysAndRelays() {
        let list = DeviceList(
            Event.sample(
                kind: .deviceList,
                tags: [
                    ["device", PublicKey.bob.hex], ["device", PublicKey.bob.hex.uppercased()], ["device"],
                    ["dm_key", PublicKey.alice.hex, "x"], ["dm_key", ""], ["relay", "wss://dm"], ["r", "wss://no"],
                ]
            )
        )
        #expect(list == DeviceList(devices: [.bob], messageKeys: [.alice], relays: ["wss://dm"]))
    }
}

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

        init(_ description: String, _ tags: [[String]], root: EventID?, parent: EventID?) {
            (testDescription, self.tags, self.root, self.parent) = (description, tags, root, parent)
        }
    }

    private static let rows = [
        Row("no e tags", [["p", key], ["e"]], root: nil, parent: nil),
        Row("a value that is no id", [["e", "nonsense", "", "root"]], root: nil, parent: nil),
        Row("a root alone is answered", [["e", a, "", "root"]], root: .first, parent: .first),
        Row(
            "root and reply in either order",
            [["e", b, "", "reply"], ["e", a, "", "root"]],
            root: .first,
            parent: .second
        ),
        Row("a reply without root", [["e", b, "", "reply"]], root: nil, parent: .second),
        Row(
            "unmarked tags beside marked ones are mentions",
            [["e", a, "", "root"], ["e", c], ["e", b, "", "reply"], ["e", c]],
            root: .first,
            parent: .second
        ),
        Row("mentions alone", [["e", a, "", "mention"]], root: nil, parent: nil),
        Row("one unmarked", [["e", a]], root: .first, parent: .first),
        Row("two unmarked", [["e", a], ["e", b, "wss://x"]], root: .first, parent: .second),
        Row("three unmarked", [["e", a], ["e", b], ["e", c, "", ""]], root: .first, parent: .third),
        Row(
            "a mention does not count among unmarked ones",
            [["e", a], ["e", b, "", "mention"]],
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
