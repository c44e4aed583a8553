import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// `nostr:` URIs in people's texts.
@Suite struct MentionTests {
    private let npub = NIP19.npub(Fixture.sender)
    private let note = NIP19.note(Fixture.referencedID)
    private let known: [NostrReference: String] = [
        .profile(Fixture.sender): "carol\u{202E}\n",
        .event(Fixture.referencedID): "This is\nthe way, for all who come here today",
    ]

    private func body(
        _ content: String,
        _ keys: String = "mentions: names, ",
        text: String = "{{event.content}}",
        known: [NostrReference: String]? = nil
    ) throws -> String {
        let book = try RuleBook(
            yaml: "version: 1\nrules: [{ match: { kinds: 1 }, \(keys)body: \"\(text)\" }]",
            name: "r.yaml"
        )
        var input = Fixture.input(kind: 1, content: content, signal: .mention)
        input.mentioned = known ?? self.known
        return try #require(book.notification(for: input)).body
    }

    @Test func peopleAreNamedAndNotesQuoted() throws {
        #expect(try body("hi nostr:\(npub)!") == "hi @carol!")
        #expect(try body("hi nostr:\(NIP19.nprofile(Fixture.sender))!") == "hi @carol!")
        #expect(try body("nostr:\(note) is right") == "“This is the way, for all who come here t...” is right")
        let event = NIP19.nevent(Fixture.referencedID, author: Fixture.sender, kind: .textNote)
        #expect(try body("nostr:\(event)") == "“This is the way, for all who come here t...”")
        let address = EventAddress(kind: Kind(30023), pubkey: Fixture.sender, identifier: "a")
        let naddr = try #require(NIP19.naddr(address))
        #expect(try body("nostr:\(naddr)", known: [.address(address): "# Hello"]) == "“# Hello”")
    }

    @Test func unknownMentionIsShortened() throws {
        #expect(try body("hi nostr:\(npub)", known: [:]) == "hi @\(Fixture.sender.hex.prefix(8))...")
        #expect(try body("see nostr:\(note)", known: [:]) == "see \(note.prefix(12))...")
        // A mentioned event may mention others; those are not fetched.
        let nested = try body("nostr:\(note)", known: [.event(Fixture.referencedID): "hi nostr:\(npub)"])
        #expect(nested == "“hi @\(Fixture.sender.hex.prefix(8))...”")
    }

    @Test func excerptsCountVisibleCharacters() throws {
        #expect(try body("nostr:\(npub) said hello", text: "{{excerpt11(event.content)}}") == "@carol said...")
    }

    @Test(arguments: ["", "mentions: raw, "])
    func mentionsAreRawByDefault(keys: String) throws {
        #expect(try body("hi nostr:\(npub)", keys) == "hi nostr:\(npub)")
        #expect(try RuleBook.builtIn().rules.allSatisfy { $0.mentions == .raw })
    }

    @Test func mentionInANameIsNotExpanded() throws {
        let name = "nostr:\(note)"
        #expect(try body("nostr:\(npub)", known: [.profile(Fixture.sender): name]) == "@\(note.prefix(12))...")
    }

    @Test func mentionsSettingAppliesPerFileAndRule() throws {
        let book = try RuleBook(
            yaml: """
                version: 1
                mentions: names
                rules:
                  - { match: { kinds: 1 }, mentions: raw, title: "{{event.content}}", url: "https://a.example/{{event.content}}" }
                  - { match: { kinds: 7 }, title: "{{event.content}}", url: "https://a.example/{{event.content}}", thread: "{{event.content}}" }
                """,
            name: "r.yaml"
        )
        var input = Fixture.input(kind: 7, content: "nostr:\(npub)", signal: .reaction)
        input.mentioned = known
        let notification = try #require(book.notification(for: input))
        #expect(notification.title == "@carol")
        // Programs read these.
        #expect(notification.url == "https://a.example/nostr%3A\(npub)" && notification.thread == "nostr:\(npub)")
        #expect(book.rules.map { $0.needs(in: .alert).contains(.mentions) } == [false, true])
        #expect(book.rules[1].needs(in: .nudge) == [])
        #expect(throws: Diagnostics.self) {
            try RuleBook(yaml: "version: 1\nmentions: nmaes\nrules: []", name: "r.yaml")
        }
    }

    @Test func theReferencedEventsAuthorIsNamed() throws {
        let book = try RuleBook(
            yaml: #"""
                version: 1
                rules:
                  - match: { kinds: 1 }
                    title: "{{referenced.author.name}}{{#referenced}}, {{author.name}}{{/referenced}} and {{author.name}}"
                    body: "{{^referenced.author}}somebody{{/referenced.author}}{{npub(referenced.author.pubkey)}}"
                """#,
            name: "r.yaml"
        )
        var input = Fixture.input(kind: 1, signal: .mention)
        input.referenced = ReferencedEvent(id: Fixture.referencedID, author: Fixture.sender, authorName: "carol")
        var notification = try #require(book.notification(for: input))
        #expect(notification.title == "carol, carol and alice" && notification.body == npub)
        input.referenced = ReferencedEvent(id: Fixture.referencedID)
        notification = try #require(book.notification(for: input))
        #expect(notification.title == ",  and alice" && notification.body == "somebody")
        let needs = try #require(book.rules.first).needs(in: .alert)
        #expect(needs == [.authorName, .referencedEvent, .referencedAuthorName])
    }
}
