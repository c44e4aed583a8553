import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

@Suite struct RuleBookReadingTests {
    private func mistakes(_ yaml: String) -> [String] {
        do {
            _ = try RuleBook(yaml: yaml, name: "rules.yaml")
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    private func book(_ rules: String) throws -> RuleBook {
        try RuleBook(yaml: "version: 1\nrules:\n" + rules, name: "rules.yaml")
    }

    @Test func allErrorsAreReportedTogetherWithTheirLines() {
        let yaml = """
            version: 2
            rules:
              - name: like
                match: { kinds: [7, 70000], relation: answer }
                titel: x
                title: "{{author.nam}}"
                urgency: hihg
                signal: "Not A Word"
              - match: { kind: 7 }
                drop: perhaps
                body: "{{#referenced}}{{referenced.id}}"
                actions: [{ id: a }]
            """
        #expect(
            mistakes(yaml) == [
                "rules.yaml:1:10: version: this Carillon reads version 1",
                "rules.yaml:4:25: rules[0].match.kinds[1]: expected a whole number from 0 to 65535",
                "rules.yaml:4:43: rules[0].match.relation: 'answer' is none of reply, quote, mention",
                "rules.yaml:5:5: rules[0]: unknown key 'titel'; did you mean 'title'?",
                "rules.yaml:6:12: rules[0].title: there is no variable 'author.nam'; did you mean 'author.name'?",
                "rules.yaml:7:14: rules[0].urgency: 'hihg' is none of low, normal, high; did you mean 'high'?",
                "rules.yaml:8:13: rules[0].signal: expected 1 to 32 of a-z, 0-9, _ and -, and not 'batch'",
                "rules.yaml:9:14: rules[1].match: unknown key 'kind'; did you mean 'kinds'?",
                "rules.yaml:10:11: rules[1].drop: expected true or false",
                "rules.yaml:11:11: rules[1].body: the section {{#referenced}} has no end: expected {{/referenced}}",
                "rules.yaml:12:15: rules[1].actions[0]: 'label' is missing: the text on the button",
            ]
        )
    }

    @Test(arguments: ["", "[]", "version: 1", "rules: []", "just text"])
    func invalidRulesFileIsRefused(_ yaml: String) {
        #expect(!mistakes(yaml).isEmpty)
    }

    @Test func firstMatchWins() throws {
        let book = try book(
            """
              - { name: quiet, match: { kinds: [7], content: "-" }, drop: true }
              - { name: any, match: { kinds: 7 }, signal: reaction, title: any }
            """
        )
        #expect(book.notification(for: Fixture.input(kind: 7, content: "-")) == nil)
        #expect(book.notification(for: Fixture.input(kind: 7, content: "+"))?.title == "any")
    }

    @Test func relationAndSignalMustHoldWhenGiven() throws {
        let book = try book(
            """
              - { match: { relation: quote }, title: quoted }
              - { match: { signal: [reply, mention] }, title: named }
            """
        )
        #expect(book.notifiableKinds == EventSubject.allKinds)
        #expect(book.notification(for: Fixture.input(kind: 1, signal: .mention, relation: .quote))?.title == "quoted")
        #expect(book.notification(for: Fixture.input(kind: 1, signal: .reply, relation: .reply))?.title == "named")
        #expect(book.notification(for: Fixture.input(kind: 1, signal: .dm)) == nil)
        #expect(book.notification(for: Fixture.input(kind: 1)) == nil)
    }

    @Test func anyKindIsNotifiableUnderANewSignal() throws {
        let book = try book(
            "  - { match: { kinds: 23194 }, signal: wallet, title: \"Payment request\", urgency: high }\n"
        )
        let notification = try #require(book.notification(for: Fixture.input(kind: 23194)))
        #expect(notification.signal == Signal(rawValue: "wallet"))
        #expect(notification.urgency == .high)
        #expect(book.namedSignals == [Signal(rawValue: "wallet")])
    }

    @Test func ruleMayReduceTheDevicesMode() throws {
        let book = try book("  - { match: { kinds: 1 }, mode: wake, title: secret }\n")
        let input = Fixture.input(kind: 1, signal: .mention)
        #expect(book.notification(for: input) == .wake(.mention, urgency: .normal))
    }

    @Test func untrustedTextIsInsertedVerbatimAndNeverEvaluated() throws {
        let book = try book("  - { match: { kinds: 1 }, title: \"{{author.name}} & {{{event.content}}}\" }\n")
        let input = Fixture.input(
            kind: 1,
            content: "{{author.pubkey}} <b>",
            author: "\"x\" {{event.id}}",
            signal: .mention
        )
        #expect(book.notification(for: input)?.title == "\"x\" {{event.id}} & {{author.pubkey}} <b>")
    }

    @Test func sectionsTestForTheReferencedEvent() throws {
        let book = try book(
            "  - { match: { kinds: 7 }, signal: reaction, title: \"{{#referenced}}on {{id}}{{/referenced}}{{^referenced}}on nothing{{/referenced}}\" }\n"
        )
        #expect(book.notification(for: Fixture.input(kind: 7))?.title == "on nothing")
        let known = Fixture.input(kind: 7, referenced: ReferencedEvent(id: Fixture.referencedID))
        #expect(book.notification(for: known)?.title == "on " + Fixture.referencedID.hex)
    }

    @Test func buttonsAndNativeBlocksAreCarried() throws {
        let book = try book(
            """
              - match: { kinds: 7 }
                signal: reaction
                url: "nostr:{{event.id}}"
                apns: { interruption-level: passive }
                fcm: { priority: HIGH }
                actions: [{ id: app.reply, label: Reply, url: "app://{{event.id}}", icon: arrow }]
            """
        )
        let notification = try #require(book.notification(for: Fixture.input(kind: 7)))
        let id = Fixture.eventID.hex
        #expect(notification.url == "nostr:" + id)
        #expect(
            notification.actions == [
                NotificationAction(id: "app.reply", label: "Reply", url: "app://" + id, icon: "arrow")
            ]
        )
        #expect(
            notification.native == ["ios": #"{"interruption-level":"passive"}"#, "android": #"{"priority":"HIGH"}"#]
        )
    }

    @Test func summaryShowsTheCount() throws {
        let book = try RuleBook(yaml: "version: 1\nrules: []\nsummary: { title: \"{{count}} new\" }\n", name: "r")
        let summary = book.renderSummary(count: 7, signal: .dm, urgency: .high, mode: .alert)
        #expect(summary.title == "7 new" && summary.count == 7)
        #expect(
            book.renderSummary(count: 7, signal: .dm, urgency: .high, mode: .wake)
                == .wake(.dm, urgency: .high, count: 7)
        )
    }
}
