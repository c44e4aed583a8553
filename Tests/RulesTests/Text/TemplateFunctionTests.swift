import Nostr
import Notifications
import Testing

@testable import Rules

@Suite struct TemplateFunctionTests {
    private func render(
        _ template: String,
        _ input: RuleInput,
        now: Int64 = 0,
        in place: TextPlace = .line
    ) throws -> String {
        try Template(template, in: place).render(TemplateValues(input, now: now))
    }

    private func message(_ template: String) -> String {
        do {
            _ = try Template(template)
            return ""
        } catch {
            return error.message
        }
    }

    @Test(arguments: [
        ("{{excerpt5(event.content)}}", "hello..."), ("{{truncate5(event.content)}}", "hello"),
        ("{{truncate500(event.content)}}", "hello World"), ("{{excerpt11(event.content)}}", "hello World"),
        ("{{upper(event.content)}}", "HELLO WORLD"), ("{{lower(event.content)}}", "hello world"),
        ("{{upper(truncate2(event.content))}}", "HE"),
        ("{{truncate8(event.id)}}", String(Fixture.eventID.hex.prefix(8))),
        ("{{#truncate1(event.content)}}yes{{/truncate1(event.content)}}", "yes"),
    ])
    func textIsCutAndChanged(_ template: String, _ expected: String) throws {
        #expect(try render(template, Fixture.input(kind: 1, content: "hello World")) == expected)
    }

    @Test func whatIsHiddenTakesNoRoom() throws {
        let content = String(repeating: "\u{200B}", count: 500) + "hello"
        #expect(try render("{{excerpt5(event.content)}}", Fixture.input(kind: 1, content: content)) == "hello")
    }

    @Test func cutsAreNeverInsideACharacter() throws {
        let input = Fixture.input(kind: 1, content: "👩‍👩‍👧🇩🇪e\u{301}x")
        #expect(try render("{{truncate1(event.content)}}", input) == "👩‍👩‍👧")
        #expect(try render("{{truncate3(event.content)}}", input) == "👩‍👩‍👧🇩🇪e\u{301}")
    }

    @Test func whatWasTooLongToBeLookedAtHasDots() throws {
        let content = "a" + String(repeating: "\u{301}", count: 10_000) + "b"
        #expect(try render("{{excerpt(event.content)}}", Fixture.input(kind: 1, content: content)) == "...")
        let hidden = "ab" + String(repeating: "\u{200B}", count: 10_000) + "c"
        #expect(try render("{{excerpt(event.content)}}", Fixture.input(kind: 1, content: hidden)) == "a...")
    }

    @Test func keysAndIDsInNIP19sForms() throws {
        let key = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
        let npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
        var input = Fixture.input(kind: 1, tags: [["p", key], ["e", "no id"], ["q", Fixture.referencedID.hex]])
        input.author = try #require(PublicKey(hex: key))
        input.recipient = input.author
        input.referenced = ReferencedEvent(id: Fixture.referencedID, kind: .textNote)
        #expect(
            try render("{{author.npub}} {{npub(author.pubkey)}} {{recipient.npub}} {{npub(event.tag.p)}}", input)
                == [npub, npub, npub, npub].joined(separator: " ")
        )
        #expect(
            try render("{{note(event.id)}} {{note(event.tag.q)}}", input)
                == NIP19.note(Fixture.eventID) + " " + NIP19.note(Fixture.referencedID)
        )
        #expect(
            try render("{{nevent(event.id)}}", input)
                == NIP19.nevent(Fixture.eventID, author: Fixture.author, kind: .textNote)
        )
        #expect(try render("{{nevent(referenced.id)}}", input) == NIP19.nevent(Fixture.referencedID, kind: .textNote))
        #expect(try render("{{note(event.tag.e)}}{{npub(event.tag.x)}}.", input) == ".")
    }

    @Test func tagsAreSpokenOfByName() throws {
        let input = Fixture.input(
            kind: 1,
            tags: [["subject", "Dinner"], ["t", "nostr"], ["t", "art"], ["starts", "1708000000"], ["empty"]]
        )
        #expect(
            try render("{{event.subject}} #{{event.tag.t}} {{upper(event.tag.t)}}", input) == "Dinner #nostr NOSTR"
        )
        #expect(
            try render("{{#event.tag.t}}yes{{/event.tag.t}}{{^event.tag.empty}}none{{/event.tag.empty}}", input)
                == "yesnone"
        )
        #expect(try render("{{#event}}{{tag.t}} {{subject}}{{/event}}", input) == "nostr Dinner")
        #expect(try render("{{since(event.tag.starts)}}", input, now: 1_708_007_200_000) == "2h")
        #expect(try Template("{{event.tag.t}}").variables == ["event.tag.t"])
    }

    @Test func namesAreShortAndNeverEmpty() throws {
        let template = "{{author.name}}"
        let long = String(repeating: "x", count: 65)
        #expect(try render(template, Fixture.input(kind: 1, author: long)) == long.dropLast() + "...")
        #expect(
            try render(template, Fixture.input(kind: 1, author: " \u{200B}\u{2800}\n")) == Fixture.author.hex.prefix(8)
                + "..."
        )
        #expect(try render(template, Fixture.input(kind: 1, author: "a\n b"), in: .paragraph) == "a b")
    }

    @Test(arguments: [
        ("{{exerpt(event.content)}}", "there is no function 'exerpt'; did you mean 'excerpt'?"),
        ("{{excerpt0(event.content)}}", "there is no function 'excerpt0'"),
        ("{{excerpt501(event.content)}}", "there is no function 'excerpt501'"),
        ("{{truncate(event.content)}}", "there is no function 'truncate'"),
        ("{{truncate05(event.content)}}", "there is no function 'truncate05'"),
        ("{{event.contnt}}", "there is no variable 'event.contnt'; did you mean 'event.content'?"),
        ("{{event.tag.}}", "there is no variable 'event.tag.'"), ("{{event.tag}}", "there is no variable 'event.tag'"),
        ("{{event.tag.a.b}}", "there is no variable 'event.tag.a.b'"), ("{{tag.t}}", "there is no variable 'tag.t'"),
        ("{{npub(event.content)}}", "expected npub of a pubkey"), ("{{npub(event.id)}}", "expected npub of a pubkey"),
        ("{{ago(event.content)}}", "expected npub of a pubkey"),
        ("{{npub(upper(author.pubkey))}}", "expected npub of a pubkey"),
        ("a\nb", "expected one line"), ("{{event.id}}\n", "expected one line"), ("a\u{7}", "expected no control"),
        ("a\tb", "expected no control"),
    ])
    func mistakesAreToldWhenTheFileIsRead(_ template: String, _ beginning: String) {
        #expect(message(template).hasPrefix(beginning), "\(message(template))")
    }

    @Test func bodiesMayHaveLinesAndTabsOfTheirOwn() throws {
        let input = Fixture.input(kind: 1, content: "x\ny")
        #expect(try render("a\n\tb {{event.content}}", input, in: .paragraph) == "a\n\tb x\ny")
        #expect(throws: TemplateError.self) { try Template("a\u{0}", in: .paragraph) }
    }

    @Test func identifiersHaveNoBlanksAtTheirEndsAndAreBounded() throws {
        let long = String(repeating: "é", count: 500)
        #expect(try render("{{event.content}} ", Fixture.input(kind: 1, content: " a  b\n"), in: .identifier) == "a b")
        #expect(
            try render("{{event.content}}", Fixture.input(kind: 1, content: long), in: .identifier).utf8.count == 256
        )
    }
}
