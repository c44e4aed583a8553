import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Several files that are one rule book.
@Suite struct RulesFilesTests {
    private let own = RulesFile(
        name: "own.yaml",
        text: """
            version: 1
            rules:
              - { match: { kinds: 7, content: "-" }, drop: true }
            summary: { title: "{{count}} from own" }
            """
    )
    private let common = RulesFile(
        name: "common.yaml",
        text: """
            version: 1
            rules:
              - { match: { kinds: 7 }, signal: reaction }
              - { name: first, match: { kinds: 1 }, title: hi }
            summary: { title: "{{count}} from common" }
            nudge: { title: "From common" }
            """
    )

    @Test func firstFilesRulesPrecedeOthers() throws {
        let book = try RuleBook(files: [own, common])
        #expect(book.rules.map(\.name) == ["rule-1", "rule-2", "first"])
        #expect(book.notification(for: Fixture.input(kind: 7, content: "-")) == nil)
        #expect(book.notification(for: Fixture.input(kind: 7, content: "+")) != nil)
        let other = try RuleBook(files: [common, own])
        #expect(other.notification(for: Fixture.input(kind: 7, content: "-")) != nil)
    }

    @Test func firstFileWithASingletonKeyDecides() throws {
        func summary(_ files: [RulesFile]) throws -> String {
            try RuleBook(files: files).renderSummary(count: 3, signal: .dm, urgency: .normal, mode: .alert).title
        }
        #expect(try summary([own, common]) == "3 from own")
        #expect(try summary([common, own]) == "3 from common")
        let input = Fixture.input(kind: 1, signal: .mention)
        #expect(
            try RuleBook(files: [own, common]).notification(for: input, mode: .nudge)?.neutral.title == "From common"
        )
    }

    @Test func categoriesAreMerged() throws {
        let buttons = RulesFile(
            name: "buttons.yaml",
            text: """
                version: 1
                categories: [shop.buy]
                rules:
                  - match: { kinds: 30018 }
                    signal: shop
                    apns: { category: shop.track, actions: { track: {} } }
                """
        )
        let more = RulesFile(name: "more.yaml", text: "version: 1\ncategories: [shop.track]\nrules: []\n")
        #expect(throws: Diagnostics.self) { try RuleBook(files: [buttons]) }
        #expect(try RuleBook(files: [buttons, more]).rules.count == 1)
        #expect(try RuleBook(files: [more, buttons]).rules.count == 1)
    }

    @Test func errorsNameTheirOwnFile() {
        let wrong = RulesFile(name: "wrong.yaml", text: "version: 1\nruels: []\nsummary: { titel: x }\n")
        let empty = RulesFile(name: "empty.yaml", text: "")
        let error = #expect(throws: Diagnostics.self) { try RuleBook(files: [own, wrong, common, empty]) }
        #expect(
            error?.all.map(\.description) == [
                "wrong.yaml:1:1: 'rules' is missing: a list of rules, first match wins",
                "wrong.yaml:2:1: unknown key 'ruels'; did you mean 'rules'?",
                "wrong.yaml:3:12: summary: unknown key 'titel'; did you mean 'title'?",
                "empty.yaml: the file is empty",
            ]
        )
    }

    @Test func unreachableFileIsAnErrorInTheLaterFile() {
        let all = RulesFile(name: "all.yaml", text: "version: 1\nrules:\n  - { name: all, drop: true }\n")
        let error = #expect(throws: Diagnostics.self) { try RuleBook(files: [own, all, common]) }
        #expect(
            error?.description
                == "common.yaml:3:5: rules[0]: no event gets here: the rule 'all' (all.yaml:3) has no conditions, so every "
                + "event stops there"
        )
    }
}
