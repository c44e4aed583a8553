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
    func expiresWhenNIP40Says(_ value: String, _ now: Int64, _ isExpired: Bool) {
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

    @Test func reactionsAreToTheLastOfEach() throws {
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

    @Test func repostsCarryWhatTheyRepost() throws {
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
