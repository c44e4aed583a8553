import Core
import Nostr
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Rules

@Suite struct TemplateFunctionTests {
    private func render(
        _ template: String,
        _ input: RuleInput,
        now: Timestamp = 0,
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

    @Test func hiddenCharactersTakeNoSpace() throws {
        let content = String(repeating: "\u{200B}", count: 500) + "hello"
        #expect(try render("{{excerpt5(event.content)}}", Fixture.input(kind: 1, content: content)) == "hello")
    }

    @Test func cutsAreNeverInsideACharacter() throws {
        let input = Fixture.input(kind: 1, content: "👩‍👩‍👧🇩🇪e\u{301}x")
        #expect(try render("{{truncate1(event.content)}}", input) == "👩‍👩‍👧")
        #expect(try render("{{truncate3(event.content)}}", input) == "👩‍👩‍👧🇩🇪e\u{301}")
    }

    @Test func unexaminedRemainderIsShownAsDots() throws {
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

    @Test func keysAndAddressesMayIncludeRelays() throws {
        let key = try #require(PublicKey(hex: "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"))
        // As nostr-sdk writes them.
        let nprofile = "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8g2lcy6q"
        let naddr = "naddr1qqrxyctwv9hxzq3q80cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsxpqqqp65weyxdnl"
        var input = Fixture.input(
            kind: 30023,
            tags: [["d", "banana"], ["p", key.hex], ["a", "30023:\(key.hex):banana"], ["r", "30023:x"]]
        )
        input.event.pubkey = key
        input.author = key
        #expect(try render("{{nprofile(author.pubkey)}} {{nprofile(event.tag.p)}}", input) == "\(nprofile) \(nprofile)")
        #expect(try render("{{naddr(event.address)}} {{naddr(event.tag.a)}}", input) == "\(naddr) \(naddr)")
        #expect(try render("{{event.address}}{{naddr(event.tag.r)}}", input) == "30023:\(key.hex):banana")
        input.event.kind = .contactList
        #expect(try render("{{event.address}}", input) == "3:\(key.hex):")
        input.event.kind = .textNote
        #expect(try render("{{event.address}}{{naddr(event.address)}}.", input) == ".")
    }

    @Test(arguments: [
        ("{{sats(event.tag.amount)}}", "1234567.891"), ("{{round(sats(event.tag.amount))}}", "1234568"),
        ("{{number(sats(event.tag.amount))}}", "1,234,567.891"), ("{{number2(event.json.total)}}", "12.50"),
        ("{{number0(event.json.total)}}", "13"), ("{{round(event.tag.t)}}", ""), ("{{number(count)}}", "1"),
        ("{{number(event.json.big)}}", "1,500,000"), ("{{round(event.json.minus)}}", "-3"),
        ("{{number(round(event.json.minus))}}", "-3"), ("{{upper(number2(event.json.total))}}", "12.50"),
    ])
    func numbersAreComputedExactly(_ template: String, _ expected: String) throws {
        let content = #"{"total":12.5,"big":1.5e6,"minus":-2.5}"#
        let input = Fixture.input(kind: 1, content: content, tags: [["amount", "1234567891"], ["t", "a"]])
        #expect(try render(template, input) == expected)
    }

    /// As Unicode's CLDR has it.
    @Test(arguments: [
        ("de", "1.234.567,50"), ("en", "1,234,567.50"), ("fr", "1\u{202F}234\u{202F}567,50"), ("de-CH", "1’234’567.50"),
        ("hi", "12,34,567.50"), ("pt-PT", "1\u{A0}234\u{A0}567,50"),
    ])
    func numbersAreLocalized(_ language: String, _ expected: String) throws {
        let values = TemplateValues(Fixture.input(kind: 1, tags: [["n", "1234567.5"]]))
        let tag = try #require(LanguageTag(language))
        #expect(try Template("{{number2(event.tag.n)}}").render(values.speaking(tag)) == expected)
    }

    @Test func anAmountOfAnyLengthStaysExact() {
        #expect(DecimalNumber("2100000000000000001")?.thousandths.text == "2100000000000000.001")
        #expect(DecimalNumber("0.0005")?.rounded(to: 3).text == "0.001" && DecimalNumber("-0.4")?.rounded().text == "0")
        #expect(DecimalNumber("99.95")?.rounded(to: 1).text == "100" && DecimalNumber("007.10")?.text == "7.1")
        #expect(DecimalNumber("12e-3")?.text == "0.012" && DecimalNumber("1E2")?.text == "100")
        for text in ["", "-", ".5", "5.", "1e", "1e99", "+1", "0x1", "1 ", "١", String(repeating: "9", count: 39)] {
            #expect(DecimalNumber(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ("{{#event.tags.t}}#{{.}}{{^last()}}, {{/last()}}{{/event.tags.t}}", "#a, #b, #c"),
        ("{{#each2(event.tags.t)}}{{#first()}}Tags: {{/first()}}{{upper(.)}} {{/each2(event.tags.t)}}", "Tags: A B "),
        ("{{^event.tags.x}}none{{/event.tags.x}}{{#event.tags.x}}some{{/event.tags.x}}", "none"),
        ("{{count(event.tags.t)}} tags{{count(event.tags.x)}}", "3 tags"),
        ("{{#count(event.tags.x)}}some{{/count(event.tags.x)}}", ""),
        ("{{event.tag.price}} {{event.tag.price.2}}{{event.tag.price.3}}{{event.tag.t.2}}", "5 EUR"),
        ("{{#event.tag.t}}{{.}}{{/event.tag.t}}", "a"), ("{{#event}}{{#tags.t}}{{.}}{{/tags.t}}{{/event}}", "abc"),
    ])
    func tagsAreListed(_ template: String, _ expected: String) throws {
        let input = Fixture.input(
            kind: 1,
            tags: [["t", "a"], ["t", "b"], ["t", "c"], ["t"], ["price", "5", "EUR"]]
        )
        #expect(try render(template, input) == expected)
    }

    @Test func aListHasALimit() throws {
        let input = Fixture.input(kind: 1, tags: (0..<500).map { ["t", "\($0)\u{202E}"] })
        #expect(try render("{{#event.tags.t}}{{.}} {{/event.tags.t}}", input) == "0 1 2 3 4 5 6 7 8 9 ")
        #expect(try render("{{#each50(event.tags.t)}}x{{/each50(event.tags.t)}}", input).count == 50)
        #expect(try render("{{count(event.tags.t)}}", input) == "500")
    }

    @Test(arguments: [
        ("{{event.json.total}} {{event.json.items.1.name}}", "12.50 tea"),
        ("{{event.json.items}}{{event.json.x.y}}", ""),
        ("{{#event.json.paid}}paid{{/event.json.paid}}{{#event.json.sent}}sent{{/event.json.sent}}", "paid"),
        ("{{#event.json.items}}items{{/event.json.items}}", "items"), ("{{event.json.bad}}", "ab"),
    ])
    func jsonContentFieldsAreVariables(_ template: String, _ expected: String) throws {
        let content =
            #"{"total":12.50,"items":[{"name":"coffee"},{"name":"tea"}],"paid":true,"sent":false,"bad":"a\u202eb"}"#
        #expect(try render(template, Fixture.input(kind: 1, content: content)) == expected)
        #expect(try render("{{event.json.total}}.", Fixture.input(kind: 1, content: "hello")) == ".")
    }

    @Test func namedTagsAreVariables() throws {
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
        ("{{naddr(event.id)}}", "expected npub"), ("{{sats(event.content)}}", "expected npub"),
        ("{{sats(number(zap.amount))}}", "expected npub"), ("{{upper(event.tags.t)}}", "expected npub"),
        ("{{count(event.tag.t)}}", "expected npub"), ("{{event.tags.t}}", "this is a list: expected {{#event.tags.t}}"),
        ("{{each3(event.tags.t)}}", "this is a list: expected {{#each3(event.tags.t)}}"),
        ("{{each51(event.tags.t)}}", "there is no function 'each51'"),
        ("{{number7(count)}}", "there is no function 'number7'"),
        ("{{.}}", "{{.}} stands for a text of the section"), ("{{#event}}{{.}}{{/event}}", "{{.}} stands for a text"),
        ("{{#event.tag.t}}{{first()}}{{/event.tag.t}}", "there is no function 'first'"),
        ("{{event.tag.t.0}}", "there is no variable 'event.tag.t.0'"),
        ("{{event.json}}", "there is no variable 'event.json'"),
        ("a\nb", "expected one line"), ("{{event.id}}\n", "expected one line"), ("a\u{7}", "expected no control"),
        ("a\tb", "expected no control"),
    ])
    func errorsAreReportedWhenTheFileIsRead(_ template: String, _ beginning: String) {
        #expect(message(template).hasPrefix(beginning), "\(message(template))")
    }

    @Test func bodiesKeepLinesAndTabs() throws {
        let input = Fixture.input(kind: 1, content: "x\ny")
        #expect(try render("a\n\tb {{event.content}}", input, in: .paragraph) == "a\n\tb x\ny")
        #expect(throws: TemplateError.self) { try Template("a\u{0}", in: .paragraph) }
    }

    @Test func identifiersAreTrimmedAndLimited() throws {
        let long = String(repeating: "é", count: 500)
        #expect(try render("{{event.content}} ", Fixture.input(kind: 1, content: " a  b\n"), in: .identifier) == "a b")
        #expect(
            try render("{{event.content}}", Fixture.input(kind: 1, content: long), in: .identifier).utf8.count == 256
        )
    }
}

@Suite struct ZapVariablesTests {
    @Test(
        arguments: [
            (0, "0"), (1, "0.001"), (500, "0.5"), (999, "0.999"), (1000, "1"), (21_000, "21"), (21_050, "21.05"),
            (100_000_000_000, "100000000"), (UInt64.max, "18446744073709551.615"),
        ] as [(UInt64, String)]
    )
    func amountIsInSatoshis(_ millisats: UInt64, _ text: String) throws {
        var input = Fixture.input(kind: 9735)
        input.zap = Fixture.zap(millisats: millisats)
        #expect(try Template("{{zap.amount}}").render(TemplateValues(input)) == text)
    }

    @Test func sectionsTestForZapCommentAndAnonymousSender() throws {
        let template = try Template(
            "{{#zap}}zap{{#zap.comment}} said {{zap.comment}}{{/zap.comment}}{{#zap.anonymous}} by nobody{{/zap.anonymous}}{{/zap}}{{^zap}}none{{/zap}}"
        )
        var input = Fixture.input(kind: 9735)
        #expect(template.render(TemplateValues(input)) == "none")
        input.zap = Fixture.zap(millisats: 1)
        #expect(template.render(TemplateValues(input)) == "zap")
        input.zap = Fixture.zap(millisats: 1, comment: "hi", isAnonymous: true)
        #expect(template.render(TemplateValues(input)) == "zap said hi by nobody")
    }

    @Test func authorIsTheSenderAndTheEventsPubkeyTheWallet() throws {
        var input = Fixture.input(kind: 9735)
        input.author = Fixture.sender
        let template = try Template("{{author.pubkey}} {{event.pubkey}}")
        #expect(template.render(TemplateValues(input)) == "\(Fixture.sender.hex) \(Fixture.author.hex)")
    }
}

@Suite struct RelativeTimeTests {
    @Test(
        arguments: [
            (-100, "now", "just now"), (0, "now", "just now"), (59, "now", "just now"), (60, "1m", "1 minute ago"),
            (300, "5m", "5 minutes ago"), (3599, "59m", "59 minutes ago"), (3600, "1h", "1 hour ago"),
            (86_399, "23h", "23 hours ago"), (86_400, "1d", "1 day ago"), (6 * 86_400, "6d", "6 days ago"),
            (7 * 86_400, "1w", "1 week ago"), (30 * 86_400, "1mo", "1 month ago"),
            (364 * 86_400, "12mo", "12 months ago"),
            (365 * 86_400, "1y", "1 year ago"), (Int64.max, "292471208677y", "292471208677 years ago"),
        ] as [(Int64, String, String)]
    )
    func relativeTimeUsesTheLargestUnit(_ seconds: Int64, _ short: String, _ words: String) {
        #expect(RelativeTime.short(seconds: seconds) == short)
        #expect(RelativeTime.words(seconds: seconds, in: nil) == words)
    }

    @Test(arguments: [
        ("de-AT", "vor 5 Minuten"), ("es", "hace 5 minutos"), ("fr-CA", "il y a 5 minutes"), ("it", "5 minuti fa"),
        ("ja", "5分前"), ("nl", "5 minuten geleden"), ("pt-BR", "há 5 minutos"), ("en-GB", "5 minutes ago"), ("fi", "5m"),
    ])
    func relativeTimeUsesTheTextsLanguage(_ tag: String, _ words: String) {
        #expect(RelativeTime.words(seconds: 300, in: LanguageTag(tag)) == words)
    }

    @Test func everyLanguageHasAllUnits() {
        for words in RelativeTimeWords.byLanguage.values { #expect(words.units.count == 6) }
        #expect(RelativeTime.words(seconds: 86_400, in: LanguageTag("de")) == "vor 1 Tag")
    }

    @Test func relativeTimeCountsFromRendering() throws {
        let input = Fixture.input(kind: 1)
        let book = try RuleBook(
            yaml: """
                version: 1
                rules:
                  - match: { kinds: 1 }
                    title: { default: "{{ago(event.created_at)}}", de: "{{ago(event.created_at)}}", fi: "{{since(event.created_at)}}" }
                """,
            name: "rules.yaml"
        )
        let rule = try #require(book.rules.first)
        func title(_ language: String?) -> String {
            let language = language.flatMap { LanguageTag($0) }
            return rule.render(input, signal: .mention, mode: .alert, language: language, now: 1_708_007_200_999).title
        }
        #expect(title(nil) == "2 hours ago")
        #expect(title("de-CH") == "vor 2 Stunden")
        #expect(title("fi") == "2h")
        // A text in the default's language shows times in that language, whatever the device's language is.
        #expect(title("es") == "2 hours ago")
    }
}
