import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Apps with their own rules, in addition to the common ones.
@Suite struct AppRulesTests {
    private let common = RulesFile(
        name: "common.yaml",
        text: """
            version: 1
            rules:
              - { name: like, match: { kinds: 7 }, signal: reaction, title: liked }
              - { name: note, match: { kinds: 1 }, title: { default: hi, de: hallo } }
            summary: { title: "{{count}} in common" }
            nudge: { title: common }
            """
    )

    private func shop(_ rules: String, _ further: String = "") -> RulesFile {
        RulesFile(name: "shop.yaml", text: "version: 1\nrules: [\(rules)]\n\(further)")
    }

    private func name(_ book: RuleBook, _ kind: UInt16, app: String) -> String? {
        var question = RuleQuestion(event: Fixture.event(kind: kind, content: ""), signal: .mention)
        question.app = app
        switch book.decide(question) {
        case .notify(let rule, _), .drop(let rule): return rule.name
        case .unmatched: return nil
        }
    }

    @Test func appsOwnRulesPrecedeCommonRules() throws {
        let own = shop(
            "{ name: order, match: { kinds: 30402 }, signal: order }, { name: no-likes, match: { kinds: 7 }, drop: true }"
        )
        let book = try RuleBook(files: [common], ofApps: ["shop": [own]])
        #expect(name(book, 30402, app: "shop") == "order" && name(book, 30402, app: "default") == nil)
        #expect(name(book, 7, app: "shop") == "no-likes" && name(book, 7, app: "default") == "like")
        #expect(name(book, 1, app: "shop") == "note" && name(book, 1, app: "") == "note")
        #expect(book.asksForApp && book.notifiableKinds == [1, 7, 30402])
        #expect(book.namedSignals.map(\.rawValue) == ["order"] && book.languages.map(\.description) == ["de"])
        #expect(book.outline(of: "shop.yaml").count == 2 && book.outline(of: "common.yaml").count == 2)
    }

    @Test func appsOwnRulesComeBeforeCommonOnes() throws {
        let own = shop(
            "{ name: order, match: { kinds: 30402 }, signal: order }",
            "summary: { title: \"{{count}} orders\" }\n"
        )
        let book = try RuleBook(files: [common], ofApps: ["shop": [own]])
        func summary(_ app: String) -> String {
            book[app].renderSummary(count: 2, signal: .dm, urgency: .normal, mode: .alert).title
        }
        #expect(summary("shop") == "2 orders" && summary("default") == "2 in common")
        #expect(
            book["shop"].renderSummary(count: 2, signal: .dm, urgency: .normal, mode: .nudge).neutral.title == "common"
        )
    }

    /// An app may use only its own rules.
    @Test func appMayDisableCommonRules() throws {
        let own = shop("{ name: order, match: { kinds: 30402 }, signal: order }, { name: nothing-else, drop: true }")
        let book = try RuleBook(files: [common], ofApps: ["shop": [own]])
        #expect(name(book, 1, app: "shop") == "nothing-else" && name(book, 1, app: "default") == "note")
    }

    @Test func everyErrorIsReportedOnce() {
        let broken = RulesFile(name: "broken.yaml", text: "version: 1\nrules: [{ tittle: a }]")
        let own = shop("{ match: { kinds: 1 }, titel: a }, { drop: true }, { title: never }")
        let mistakes = #expect(throws: Diagnostics.self) {
            _ = try RuleBook(files: [broken], ofApps: ["a": [own], "b": [own], "c": [shop("")]])
        }
        #expect(
            mistakes?.all.map(\.description) == [
                "broken.yaml:2:11: rules[0]: unknown key 'tittle'; did you mean 'title'?",
                "shop.yaml:2:32: rules[0]: unknown key 'titel'; did you mean 'title'?",
            ]
        )
    }

    @Test func unreachableRulesAreErrorsInTheAppsOwnFiles() {
        let own = shop("{ name: all, drop: true }, { name: never, title: never }")
        let mistakes = #expect(throws: Diagnostics.self) { _ = try RuleBook(files: [common], ofApps: ["shop": [own]]) }
        #expect(mistakes?.all.map(\.file) == ["shop.yaml"])
    }
}

@Suite struct RuleNeedsTests {
    private func needs(_ keys: String, in mode: Mode = .alert) throws -> RuleNeeds {
        let book = try RuleBook(yaml: "version: 1\nrules: [{ match: { kinds: 1 }, \(keys) }]", name: "rules.yaml")
        return try #require(book.rules.first).needs(in: mode)
    }

    @Test(arguments: [
        #"title: "{{author.name}}""#, #"body: "{{#author}}{{name}}{{/author}}""#,
        #"subtitle: "{{^author.name}}x{{/author.name}}""#,
        #"body: "{{^referenced}}{{excerpt(author.name)}}{{/referenced}}""#, #"url: "https://x/{{&author.name}}""#,
        #"actions: [{ id: a, label: "{{{author.name}}}" }]"#,
    ])
    func nameIsNeededIfATextUsesIt(_ keys: String) throws {
        #expect(try needs(keys) == [.authorName, .referencedEvent])
    }

    @Test(arguments: [#"title: "{{author.pubkey}}""#, "title: author.name", #"title: "{{! author.name }}""#])
    func nameIsNotNeededElsewhere(_ keys: String) throws {
        #expect(try needs(keys) == .referencedEvent)
    }

    @Test func wakeUpNeedsNoContext() throws {
        #expect(try needs(#"title: "{{author.name}}""#, in: .wake) == [])
        #expect(try needs(#"mode: wake, title: "{{author.name}}""#) == [])
    }

    @Test func dottedVariablesBelongToTheEnclosingGroup() throws {
        #expect(try Template("{{#event}}{{pubkey}}{{/event}}").variables == ["event.pubkey"])
        // A variable that the inner group lacks is looked up in the outer one.
        #expect(
            try Template("{{#event}}{{#referenced}}{{kind}}{{/referenced}}{{/event}}").variables
                == ["referenced.kind", "event.kind"]
        )
        #expect(try Template("{{#referenced}}x{{/referenced}}{{count}}").variables == ["count"])
    }
}
