import Foundation
import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

@Suite struct LocalizedTextTests {
    private static let yaml = """
        version: 1
        rules:
          - match: { kinds: 1 }
            title: { default: hello, de: hallo, de-AT: servus, zh-Hant: 您好, pt_br: oi }
            body: { default: "{{event.content}}", de: "sagt {{event.content}}" }
            actions: [{ id: a, label: { default: Reply, de: Antworten } }]
        summary: { title: { default: "{{count}} new", fr: "{{count}} nouvelles" } }
        nudge: { title: { default: News, it: Novità }, body: "{{#batch}}{{count}}{{/batch}}" }
        """
    private let book: RuleBook
    private let rule: Rule

    init() throws {
        book = try RuleBook(yaml: Self.yaml, name: "rules.yaml")
        rule = try #require(book.rules.first)
    }

    private func mistakes(_ rule: String) -> [String] {
        do {
            _ = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: 1 }, \(rule) }", name: "r")
            return []
        } catch {
            return error.all.map(\.message)
        }
    }

    @Test(arguments: [
        ("de-AT", "servus"), ("de-CH", "hallo"), ("zh-TW", "您好"), ("zh-HK", "您好"), ("zh-CN", "hello"), ("pt-PT", "oi"),
        ("de", "hallo"), ("de-Latn-AT", "servus"), ("zh-Hant-TW", "您好"),
        ("zh", "hello"), ("pt-BR", "oi"), ("pt", "oi"), ("en", "hello"),
    ])
    func fallsBackFromRegionToLanguageToDefault(_ language: String, _ title: String) {
        let input = Fixture.input(kind: 1)
        let notification = rule.render(input, signal: .mention, mode: .alert, language: LanguageTag(language))
        #expect(notification.title == title)
    }

    @Test func everyTextHasItsOwnLanguages() {
        let input = Fixture.input(kind: 1, content: "x")
        let german = rule.render(input, signal: .mention, mode: .alert, language: LanguageTag("de-AT"))
        #expect(german.body == "sagt x" && german.actions.first?.label == "Antworten" && german.neutral.title == "News")
        let italian = rule.render(input, signal: .mention, mode: .nudge, language: LanguageTag("it"))
        #expect(italian == .nudge(.mention, urgency: .normal, NeutralTexts(title: "Novità")))
        #expect(rule.render(input, signal: .mention, mode: .alert).title == "hello")
    }

    @Test func summariesUseTheDevicesLanguage() {
        let summary = book.renderSummary(
            count: 3,
            signal: .dm,
            urgency: .low,
            mode: .sealed,
            language: LanguageTag("fr-FR")
        )
        #expect(summary.mode == .sealed && summary.title == "3 nouvelles" && summary.count == 3)
        #expect(summary.neutral == NeutralTexts(title: "News", body: "3"))
    }

    @Test func ruleBookListsItsLanguages() {
        #expect(book.languages.map(\.description) == ["de", "de-AT", "fr", "it", "pt-BR", "zh-Hant"])
    }

    @Test func errorsInLanguageMapsAreReported() {
        #expect(
            mistakes("title: { de: x }") == ["rules[0].title: 'default' is missing: the text for every other language"]
        )
        #expect(
            mistakes("title: { default: x, de-AT: y, de_at: z }") == [
                "rules[0].title.de_at: there is more than one text for de-AT"
            ]
        )
        #expect(
            mistakes("title: { default: x, defualt: y }").first?.hasPrefix(
                "rules[0].title.defualt: 'defualt' is not a language; expected 'default' or a tag"
            ) == true
        )
        #expect(mistakes("title: { default: x, de-foobar: y }").count == 1)
        #expect(mistakes(#"title: { default: x, de: "{{event.contnt}}" }"#).count == 1)
        #expect(mistakes("actions: [{ id: a, label: { default: x, loc-key: Y } }]").count == 1)
    }

    @Test func textWithoutAnEventCannotUseEventVariables() {
        func mistake(_ top: String) -> String? {
            do {
                _ = try RuleBook(yaml: "version: 1\nrules: []\n\(top)", name: "r")
                return nil
            } catch {
                return error.all.map(\.message).joined()
            }
        }
        let expected = "there is no variable 'author.name'; there are count, batch"
        #expect(mistake(#"nudge: { title: "{{author.name}}" }"#) == "nudge.title: " + expected)
        #expect(mistake(#"summary: { body: "{{author.name}}" }"#) == "summary.body: " + expected)
        #expect(mistake("nudge: { titel: x }")?.contains("did you mean 'title'?") == true)
    }

    @Test(arguments: [
        (Mode.wake, Mode.wake), (.nudge, .nudge), (.sealed, .sealed), (.alert, .alert),
    ])
    func modesShowAtMostTheirAllowedFields(_ asked: Mode, _ given: Mode) throws {
        let book = try RuleBook.builtIn()
        let input = Fixture.input(kind: 7, content: "secret", referenced: ReferencedEvent(id: Fixture.referencedID))
        let notification = try #require(book.notification(for: input, mode: asked))
        #expect(notification.mode == given)
        let texts = String(describing: notification)
        let tells = ["secret", "alice", Fixture.eventID.hex, Fixture.author.hex].filter { texts.contains($0) }
        #expect(tells.isEmpty == (given < .sealed))
        #expect(notification.neutral.title == (given == .wake ? "" : "New notification"))
    }

    @Test func neutralTextsOfTheStandard() throws {
        let book = try RuleBook.builtIn()
        let batch = book.renderSummary(count: 7, signal: .dm, urgency: .high, mode: .nudge)
        let texts = NeutralTexts(title: "7 new notifications")
        #expect(batch == .nudge(.dm, urgency: .high, count: 7, texts, batch.neutralPresentation))
    }
}

@Suite struct LocalizationKeyTests {
    private func native(_ keys: String) throws -> (ios: NSDictionary, android: NSDictionary?, title: String) {
        let book = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: 1 }, \(keys) }", name: "r")
        let notification = try #require(
            book.notification(for: Fixture.input(kind: 1, author: "a\n\"b", signal: .reply))
        )
        let android = try notification.native["android"].map(jsonObject)
        return (try jsonObject(try #require(notification.native["ios"])), android, notification.title)
    }

    private func mistakes(_ keys: String) -> [String] {
        do {
            _ = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: 1 }, \(keys) }", name: "r")
            return []
        } catch {
            return error.all.map(\.message)
        }
    }

    private static let title =
        #"title: { loc-key: LIKED, loc-args: ["{{author.name}}", x], default: "{{author.name}} liked", de: gefällt }"#

    @Test func localizationNamesReachSupportingPlatforms() throws {
        let keys =
            Self.title + ", subtitle: { loc-key: SUB, default: s }, body: { loc-key: BODY, loc-args: [], default: b }"
        let (ios, android, title) = try native(keys)
        #expect(
            ios == [
                "alert": [
                    "title-loc-key": "LIKED", "title-loc-args": ["a \"b", "x"], "subtitle-loc-key": "SUB",
                    "loc-key": "BODY", "loc-args": [],
                ] as NSDictionary
            ]
        )
        #expect(
            android == [
                "notification": [
                    "titleLocKey": "LIKED", "titleLocArgs": ["a \"b", "x"], "bodyLocKey": "BODY", "bodyLocArgs": [],
                ] as NSDictionary
            ]
        )
        // All other languages get the text.
        #expect(title == "a \"b liked")
    }

    @Test func blocksKeepTheirOtherKeys() throws {
        let (ios, android, _) = try native(
            Self.title
                + #", apns: { sound: default, badge: 1, alert: { launch-image: "l.png" } }, fcm: { notification: { icon: "{{author.name}}" } }"#
        )
        let alert = try #require(ios["alert"] as? NSDictionary)
        #expect(ios["sound"] as? String == "default" && ios["badge"] as? Int == 1)
        #expect(alert["launch-image"] as? String == "l.png" && alert["title-loc-key"] as? String == "LIKED")
        let notification = try #require(android?["notification"] as? NSDictionary)
        #expect(notification["icon"] as? String == "a \"b" && notification["titleLocKey"] as? String == "LIKED")
    }

    @Test func nameOfTheAuthorIsNeededForArguments() throws {
        let book = try RuleBook(
            yaml: #"{version: 1, rules: [{ title: { loc-key: K, loc-args: ["{{author.name}}"], default: x } }]}"#,
            name: "r"
        )
        #expect(book.rules.first?.needs(in: .alert).contains(.authorName) == true)
    }

    @Test(arguments: [
        #"title: { loc-key: "", default: x }"#, #"title: { loc-key: "A B", default: x }"#,
        #"title: { loc-key: "{{signal}}", default: x }"#, "title: { loc-args: [a], default: x }",
        "title: { loc-key: K }", "title: { loc-key: K, loc-args: x, default: x }",
        #"title: { loc-key: K, loc-args: ["{{nobody}}"], default: x }"#,
        "title: { loc-key: K, default: x }, apns: { alert: text }",
        "title: { loc-key: K, default: x }, apns: { alert: { title-loc-key: L } }",
        "title: { loc-key: K, default: x }, fcm: { notification: { titleLocKey: L } }",
    ])
    func contradictoryKeyIsAnError(_ keys: String) {
        #expect(mistakes(keys).count == 1, "\(mistakes(keys))")
    }
}
