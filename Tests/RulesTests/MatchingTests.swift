import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Each condition of a rule, and the order in which rules are matched.
@Suite struct MatchingTests {
    private func holds(_ match: String, _ question: RuleQuestion) throws -> Bool {
        let book = try RuleBook(yaml: "version: 1\nrules:\n  - { match: \(match), signal: hit }\n", name: "rules.yaml")
        if case .notify = book.decide(question) { return true }
        return false
    }

    private func question(kind: UInt16 = 1, content: String = "", tags: [[String]] = []) -> RuleQuestion {
        var event = Fixture.event(kind: kind, content: content)
        event.tags = tags
        return RuleQuestion(event: event)
    }

    @Test(arguments: [
        ("gm", "gm", true),
        ("gm", "GM", false),
        ("[gm, gn]", "gn", true),
        ("[gm, '']", "", true),
        ("[gm, gn]", "gmgn", false),
        ("{ matches: '(?i)^gm' }", "GM everybody", true),
        ("{ matches: '(?i)^gm' }", "not gm", false),
        ("{ matches: '^\\p{Emoji}+$' }", "🤙🤙", true),
    ])
    func content(_ condition: String, _ content: String, _ isRight: Bool) throws {
        #expect(try holds("{ content: \(condition) }", question(content: content)) == isRight)
    }

    @Test(arguments: [
        ("{ t: nostr }", [["t", "nostr"]], true),
        ("{ t: nostr }", [["t", "art"], ["t", "nostr"]], true),
        ("{ t: nostr }", [["t", "art", "nostr"]], false),
        ("{ t: nostr }", [["T", "nostr"]], false),
        ("{ t: [nostr, art] }", [["t", "art"]], true),
        ("{ t: [nostr, art] }", [["t"]], false),
        ("{ subject: { matches: ^urgent } }", [["subject", "urgent: rent"]], true),
        ("{ subject: { matches: ^urgent } }", [["subject", "hi"], ["subject", "urgent"]], true),
        ("{ subject: { matches: ^urgent } }", [["subject", "not urgent"]], false),
        ("{ subject: { matches: '' } }", [["subject"]], false),
        ("{ e: true }", [["e", "x"]], true),
        ("{ e: true }", [["e"]], true),
        ("{ e: true }", [["a", "x"]], false),
        ("{ e: true }", [[]], false),
        ("{ expiration: false }", [["e", "x"]], true),
        ("{ expiration: false }", [["expiration", "1"]], false),
        ("{ t: 'true' }", [["t", "true"]], true),
        ("{ t: 'true' }", [["t", "x"]], false),
        ("{ t: 'no' }", [["t", "no"]], true),
        ("{ e: True }", [["e", "x"]], true),
        ("{ t: nostr, e: false }", [["t", "nostr"]], true),
        ("{ t: nostr, e: false }", [["t", "nostr"], ["e", "x"]], false),
    ])
    func tags(_ condition: String, _ tags: [[String]], _ isRight: Bool) throws {
        #expect(try holds("{ tags: \(condition) }", question(tags: tags)) == isRight)
    }

    @Test(arguments: [
        ("{ min: 21, max: 1000 }", 20_999, false),
        ("{ min: 21, max: 1000 }", 21_000, true),
        ("{ min: 21, max: 1000 }", 1_000_000, true),
        ("{ min: 21, max: 1000 }", 1_000_001, false),
        ("{ min: 21 }", UInt64.max, false),
        ("{ min: 21 }", 2_100_000_000_000_000_000, true),
        ("{ max: 0 }", 0, true),
        ("{ min: 0 }", nil, false),
    ])
    func zap(_ condition: String, _ millisats: UInt64?, _ isRight: Bool) throws {
        var question = question(kind: 9735)
        question.zapMillisats = millisats
        #expect(try holds("{ zap: \(condition) }", question) == isRight)
    }

    @Test(arguments: [
        ("{ min: 2 }", 1, false), ("{ min: 2 }", 2, true), ("{ max: 2 }", 2, true), ("{ max: 2 }", 3, false),
        ("{ min: 2, max: 3 }", 3, true), ("{ max: 1 }", 0, true),
    ])
    func numberOfPTags(_ condition: String, _ count: Int, _ isRight: Bool) throws {
        let tags = [["e", "p"]] + Array(repeating: ["p", Fixture.recipient.hex], count: count)
        #expect(try holds("{ p_tags: \(condition) }", question(tags: tags)) == isRight)
    }

    @Test(arguments: [true, false], [true, false])
    func followed(_ wanted: Bool, _ isFollowed: Bool) throws {
        var question = question()
        question.isAuthorFollowed = isFollowed
        #expect(try holds("{ followed: \(wanted) }", question) == (wanted == isFollowed))
    }

    @Test func unknownFollowListMeansNotFollowedWithoutLosingEvents() throws {
        #expect(try holds("{ followed: false }", question()) && !holds("{ followed: true }", question()))
        let book = try RuleBook(
            yaml: "version: 1\nrules: [{ match: { followed: false }, drop: true }, { signal: hit }]",
            name: "r"
        )
        func wakes(_ isFollowed: Bool?) -> Bool {
            var followed = RuleQuestion(event: question().event)
            followed.isAuthorFollowed = isFollowed
            if case .notify = book.decide(followed) {
                return true
            }
            return false
        }
        #expect(wakes(nil) && wakes(true) && !wakes(false))
    }

    @Test(arguments: [
        ("de", "de", true), ("de", "de-AT", true), ("de-AT", "de", false), ("[fr, de]", "de-CH", true),
        ("de", "den", false), ("zh-Hant", "zh-Hant-TW", true), ("zh-TW", "zh-Hant-TW", true),
        ("zh-Hant", "zh-TW", true), ("zh-Hans", "zh-TW", false), ("de", nil, false),
        ("pt_br", "pt-BR", true), ("no", "no", true),
    ])
    func language(_ condition: String, _ language: String?, _ isRight: Bool) throws {
        var question = question()
        question.language = try language.map { try #require(LanguageTag($0)) }
        #expect(try holds("{ language: \(condition) }", question) == isRight)
    }

    @Test func everyConditionMustHold() throws {
        let match = """
            { kinds: [9735, 1], content: "", signal: zap, tags: { p: true, t: { matches: a } }, zap: { min: 1 },
              p_tags: { max: 1 }, followed: true, language: de }
            """
        var fits = question(kind: 9735, tags: [["p", "x"], ["t", "a"]])
        (fits.signal, fits.zapMillisats) = (.zap, 1000)
        (fits.isAuthorFollowed, fits.language) = (true, LanguageTag("de"))
        #expect(try holds(match, fits))
        let spoilers: [(inout RuleQuestion) -> Void] = [
            { $0.event.kind = Kind(2) }, { $0.event.content = "x" }, { $0.signal = .dm },
            { $0.event.tags[0][0] = "e" }, { $0.event.tags[1][1] = "b" }, { $0.zapMillisats = 999 },
            { $0.event.tags.append(["p", "y"]) }, { $0.isAuthorFollowed = false }, { $0.language = LanguageTag("fr") },
        ]
        for spoil in spoilers {
            var other = fits
            spoil(&other)
            #expect(try !holds(match, other))
        }
    }

    @Test func rulesWithAndWithoutKindsKeepTheirOrder() throws {
        let book = try RuleBook(
            yaml: """
                version: 1
                rules:
                  - { name: one, match: { kinds: [1, 7], content: a }, signal: s }
                  - { name: any, match: { content: b }, signal: s }
                  - { name: seven, match: { kinds: 7 }, signal: s }
                  - { name: last, signal: s }
                """,
            name: "rules.yaml"
        )
        func name(_ kind: UInt16, _ content: String) -> String? {
            guard case .notify(let rule, _) = book.decide(question(kind: kind, content: content)) else { return nil }
            return rule.name
        }
        #expect(name(1, "a") == "one" && name(7, "a") == "one" && name(30023, "a") == "last")
        #expect(name(1, "b") == "any" && name(7, "b") == "any" && name(30023, "b") == "any")
        #expect(name(7, "c") == "seven" && name(1, "c") == "last")
    }

    @Test(
        arguments: [
            ("{ match: { kinds: [1, 7] } }", [1, 7]), ("{ match: { zap: { min: 1 } }, signal: gift }", [9735]),
            ("{ match: { signal: dm }, signal: letter }", EventSubject.allKinds),
            ("{ title: a }", EventSubject.allKinds),
            ("{ signal: any }", nil), ("{ match: { relation: reply }, signal: any }", nil), ("{ drop: true }", []),
        ] as [(String, Set<UInt16>?)]
    )
    func notifiableKindsOfARule(_ rule: String, _ kinds: Set<UInt16>?) throws {
        #expect(try RuleBook(yaml: "version: 1\nrules: [\(rule)]", name: "r").notifiableKinds == kinds)
    }

    @Test func rulesNeedsAreReported() throws {
        let none = try RuleBook(yaml: "version: 1\nrules: [{ match: { kinds: 1 } }]", name: "r")
        #expect(!none.asksForFollows && !none.asksForLanguage && none.languages.isEmpty)
        let some = try RuleBook(
            yaml:
                "version: 1\nrules: [{ match: { followed: false, language: [pt-br, de] } }, { match: { language: de } }]",
            name: "r"
        )
        #expect(some.asksForFollows && some.asksForLanguage)
        #expect(some.languages.map(\.description) == ["de", "pt-BR"])
    }
}
