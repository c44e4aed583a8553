import Nostr
import RandomTestSupport
import Testing

@testable import Rules

/// Examples of untrusted text and its cleaned form.
@Suite struct UntrustedTextTests {
    private func line(_ text: String) -> String { UntrustedText.neutral(text, isMultiline: false).text }

    private func paragraph(_ text: String) -> String { UntrustedText.neutral(text, isMultiline: true).text }

    private func name(_ text: String) -> String {
        UntrustedText.neutral(text, isMultiline: false, collapsesBlanks: true).text
    }

    @Test(arguments: [
        "", "hello", "  two  blanks  ", "Größe, señor, Ελλάς, привет", "日本語 テキスト", "안녕하세요", "עִבְרִית", "العربية",
        // Emoji: with selectors, skin tones, joined, flags of regions and of parts of them, keycaps.
        "❤️", "☎︎", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👁️‍🗨️", "❤️‍🔥", "🧑🏻‍❤️‍💋‍🧑🏼", "🏴‍☠️", "🇩🇪🇦🇹", "1️⃣ #️⃣",
        "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        // Scripts that need joiners: Persian, Hindi, Sinhala, Bengali, Mongolian with a variant, Malayalam.
        "می\u{200C}روم", "क्\u{200D}ष", "ශ්\u{200D}රී ලංකා", "র\u{200D}্য", "ᠠ\u{180B}", "ന്\u{200D}റ",
        // Ideographs with a variant, a direction mark between two characters, a no-break space.
        "葛\u{E0100}", "abc\u{200E}א", "10\u{A0}km",
        // The most accents that a language writes: Vietnamese taken apart, Hebrew pointed and sung, Thai.
        "e\u{302}\u{323}", "ש\u{5C1}\u{5BC}\u{5B8}\u{591}\u{5BD}", "กี่น้ำ", "བསྒྲུབས",
    ])
    func ordinaryTextIsKept(_ text: String) {
        #expect(line(text) == text)
        #expect(paragraph(text) == text)
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let hostile: String
        let harmless: String
        var testDescription: String {
            hostile.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
        }

        init(_ hostile: String, _ harmless: String) {
            self.hostile = hostile
            self.harmless = harmless
        }
    }

    @Test(arguments: [
        // Controls and line ends.
        Change("a\nb", "a b"), Change("a\r\n\t b", "a b"), Change("a\u{0}b\u{1B}[31mc", "a b [31mc"),
        Change("\n\na\n\n", "a"), Change("a\u{85}b\u{2028}c\u{2029}d", "a b c d"), Change("a\u{9B}b\u{7F}", "a b"),
        Change("a \n b", "a  b"),
        // Text that reverses the direction of later text.
        Change("\u{202E}evil\u{202C}", "evil"), Change("a\u{2066}b\u{2067}c\u{2068}d\u{2069}", "abcd"),
        Change("\u{200F}\u{200F}a\u{200E}\u{200F}b\u{200E}", "a\u{200E}b"), Change("a\u{061C}", "a"),
        // Invisible characters.
        Change("a\u{200B}\u{200B}b\u{FEFF}c\u{2060}d\u{AD}e", "abcde"), Change("\u{3164}\u{115F}\u{FFA0}a", "a"),
        Change("al\u{200D}ice\u{200C}", "alice"), Change("\u{200D}\u{200D}👍\u{200D}\u{200D}", "👍"),
        Change("می\u{200C}\u{200C}\u{200C}روم", "می\u{200C}روم"), Change("a\u{034F}b\u{2063}c\u{206A}", "abc"),
        Change("a\u{FE0F}b\u{FE00}\u{E0101}", "ab"), Change("❤️\u{FE0F}\u{FE0E}", "❤️"), Change("\u{FE0F}", ""),
        Change("葛\u{E0100}\u{E0101}\u{E0102}", "葛\u{E0100}"),
        // Tags that spell something else than a flag.
        Change("a\u{E0068}\u{E0069}", "a"), Change("🏴\u{E0068}\u{E0069}", "🏴"), Change("🏴\u{E0068}\u{E007F}", "🏴"),
        Change("🏴\u{E0031}\u{E0062}\u{E0063}\u{E007F}", "🏴"), Change("\u{E0001}a\u{E007F}", "a"),
        Change("🏴" + String(repeating: "\u{E0061}", count: 40) + "\u{E007F}b", "🏴b"),
        // No characters at all.
        Change("a\u{FFFE}b\(HostileText.noncharacter)c\u{10FFFF}", "abc"),
        Change("a\u{FFF9}b\u{FFFA}c\u{FFFB}\u{FFFC}", "abc"),
        // Accents without a base letter, and stacked accents.
        Change("\u{301}\u{302}a", "a"), Change("a \u{301}b", "a b"),
        Change("Z" + String(repeating: "\u{351}", count: 40) + "b", "Z" + String(repeating: "\u{351}", count: 6) + "b"),
        Change("ก" + String(repeating: "\u{E47}", count: 99), "ก" + String(repeating: "\u{E47}", count: 6)),
        Change(String(repeating: "a\u{20DD}", count: 2) + String(repeating: "\u{20DD}", count: 9), "a⃝a⃝⃝⃝⃝⃝⃝"),
    ])
    func harmfulCharactersAreRemoved(_ change: Change) {
        #expect(Array(line(change.hostile).unicodeScalars) == Array(change.harmless.unicodeScalars))
    }

    @Test func paragraphsKeepLinesForEveryLineEnding() {
        #expect(paragraph("a\r\nb\rc\n\nd\u{2028}e\u{85}f\u{B}g\th\u{7}i") == "a\nb\nc\n\nd\ne\nf\ng\th i")
        #expect(paragraph("a\n\u{301}b\n\u{200F}c") == "a\nb\nc")
    }

    @Test(arguments: [
        ("  alice \u{A0}\u{3000} b ", "alice b"), ("\u{2800}\u{2003}", ""), ("a\tb", "a b"), ("ali ce", "ali ce"),
    ])
    func namesAreTrimmedWithSingleSpaces(_ hostile: String, _ harmless: String) {
        #expect(name(hostile) == harmless)
    }

    @Test func joinedEmojiAreLimited() {
        let chain = String(repeating: "👩\u{200D}", count: 1000)
        let parts = line(chain)
        #expect(parts.count > 100)
        #expect(parts.allSatisfy { $0.unicodeScalars.count <= 2 * TextNeutralizer.joinedLimit + 1 })
    }

    @Test func veryLongTextIsCutBetweenCharacters() {
        let neutral = UntrustedText.neutral(String(repeating: "👩‍👩‍👧", count: 1000), isMultiline: true)
        #expect(neutral.isCut)
        #expect(neutral.text.allSatisfy { $0 == "👩‍👩‍👧" })
        #expect((UntrustedText.limit - 40...UntrustedText.limit).contains(neutral.text.utf8.count))
        let ascii = UntrustedText.neutral(String(repeating: "a", count: 9000), isMultiline: true)
        #expect(ascii.isCut && ascii.text.utf8.count == UntrustedText.limit - 1)
    }

    @Test func cleanedTextStaysUnchanged() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            let once = paragraph(HostileText.random(using: &random))
            #expect(paragraph(once) == once)
        }
    }
}

@Suite struct ExcerptTests {
    /// One character of Unicode in 20,001 bytes.
    private let tower = "a" + String(repeating: "\u{301}", count: 10_000)

    @Test(arguments: ["a", "ß", "語", "😀", "🇩🇪"])
    func charactersCountEquallyInEveryLanguage(character: String) {
        let hundred = String(repeating: character, count: 100)
        #expect(Excerpt.of(hundred) == hundred)
        #expect(Excerpt.of(hundred + character) == hundred + "...")
    }

    @Test func excessivelyLongCharacterIsOmitted() {
        #expect(tower.count == 1)
        #expect(Excerpt.of(tower) == "...")
        #expect(Excerpt.of("hello " + tower) == "hello ...")
        #expect(String(repeating: tower, count: 3).beginning(400, bytes: 3200).isEmpty)
    }

    @Test func longTextIsCutBetweenCharacters() {
        let letter = "e" + String(repeating: "\u{301}", count: 50)
        let excerpt = Excerpt.of(String(repeating: letter, count: 200))
        #expect(excerpt == String(repeating: letter, count: 3200 / letter.utf8.count) + "...")
    }
}

@Suite struct URLTextTests {
    private func url(_ template: String, content: String) throws -> String {
        try Template(template, in: .url).render(TemplateValues(Fixture.input(kind: 1, content: content)))
    }

    @Test(arguments: [
        ("plain-text_1.~", "plain-text_1.~"), ("a/b?c#d&e=f", "a%2Fb%3Fc%23d%26e%3Df"), ("ü ☃", "%C3%BC%20%E2%98%83"),
        ("%2e%2e/", "%252e%252e%2F"), ("..", ""), (".", ""), ("...", "..."), ("@evil.example", "%40evil.example"),
        ("a\r\nHost: b", "a%20Host%3A%20b"), ("\u{202E}a", "a"),
    ])
    func insertedValueCannotLeaveItsURLPart(_ content: String, _ encoded: String) throws {
        #expect(try url("https://x/{{event.content}}", content: content) == "https://x/" + encoded)
    }

    @Test func keysAndIDsAreUnchanged() throws {
        #expect(try url("nostr:{{note(event.id)}}", content: "") == "nostr:" + NIP19.note(Fixture.eventID))
        #expect(try url("app://{{event.id}}", content: "") == "app://" + Fixture.eventID.hex)
    }

    @Test(arguments: [
        ("https://example.com/a?b=c&d#e", "https://example.com/a?b=c&d#e"), ("HTTP://x", "HTTP://x"),
        ("nostr:npub1x", "nostr:npub1x"), ("lightning:lnbc1", "lightning:lnbc1"),
        ("https://example.com/ü \"<>", "https://example.com/%C3%BC%20%22%3C%3E"), ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""), ("data:text/html,x", ""), ("no url", ""), ("https:", ""), ("", ""),
        ("java\u{200B}script:x", ""), (" https://x", ""), ("//evil.example", ""),
        ("https://x\r\nSet-Cookie: a", "https://x%20Set-Cookie:%20a"),
    ])
    func wholeURLsAreOfHarmlessSchemes(_ content: String, _ expected: String) throws {
        #expect(try url("{{event.content}}", content: content) == expected)
        #expect(try url("{{#event.content}}{{event.content}}{{/event.content}}", content: content) == expected)
    }
}
