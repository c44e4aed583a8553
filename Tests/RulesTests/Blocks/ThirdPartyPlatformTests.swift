import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// A platform unknown to Carillon is read, checked, paced and presented by its description, as the built-in ones are.
@Suite struct ThirdPartyPlatformTests {
    private static let document = """
        {"version": 1, "name": "Pager", "block": "pager", "doc": "What pagers get.", "target": {"kind": "token"},
         "rules": {"type": "object", "properties": {
            "tone": {"description": "The melody.", "enum": ["soft", "loud"]},
            "repeat": {"description": "How often.", "type": "integer", "minimum": 1, "maximum": 9, "x-alias": "times"},
            "quiet": {"description": "No sound.", "type": "boolean", "x-writes": "yes-or-no"},
            "score": {"description": "A rank.", "type": "number"},
            "colour": {"description": "Of the light.", "type": "string", "pattern": "^[a-z]+$", "x-expected": "a colour's name"},
            "code": {"description": "What it means.", "type": "object", "properties": {
               "group": {"description": "Its group.", "type": "string"}, "text": {"description": "Its text.", "type": "string"}},
               "required": ["group"]},
            "alarm": {"description": "A siren.", "type": "boolean"}},
          "checks": [
            {"when": {"is": {"quiet": [true]}}, "refuse": ["tone"], "message": "what is quiet has no tone, not even '{tone}'"},
            {"when": {"kind": ["alert"]}, "range": {"score": [0, 1]}, "message": "expected a number from 0 to 1"},
            {"when": {"summary": true}, "refuse": ["alarm"], "message": "a siren is for one event"}]},
         "default_block": {"tone": "soft"},
         "pushes": {"background_per_hour": 7, "kinds": [
            {"name": "siren", "when": {"is": {"alarm": [true]}}, "nature": "special", "pace": "immediate", "shows": true},
            {"name": "alert", "when": {"texts": true}, "nature": "alert", "pace": "batch"},
            {"name": "ping", "nature": "silent", "pace": "latest", "shows": false}]},
         "texts": {"body": {"key": "code.text", "arguments": "code.values"}},
         "presentation": [{"key": "tone", "order": ["soft", "loud"], "absent": "soft", "loud": true}],
         "batch": {"members": [{"key": "repeat", "always": 2}, {"key": "tone", "differing": "soft"}]}}
        """

    private static let nameless = document.replacing(#""block": "pager", "#, with: "")

    private func book(
        _ rule: String,
        document: String = document,
        checks: BlockChecks = [:]
    ) throws -> RuleBook {
        let catalog = PlatformCatalog(["pager": try PlatformDescription(parsing: document)])
        return try RuleBook(
            yaml: "version: 1\nrules:\n  - match: { kinds: [1] }\n    \(rule)\n",
            name: "r.yaml",
            platforms: catalog,
            blockChecks: checks
        )
    }

    private func mistakes(_ rule: String, document: String = document, checks: BlockChecks = [:]) -> [String] {
        do {
            _ = try book(rule, document: document, checks: checks)
            return []
        } catch {
            return (error as? Diagnostics)?.all.map(\.description) ?? ["\(error)"]
        }
    }

    private func block(_ rule: String, mode: Mode = .alert) throws -> String? {
        let input = Fixture.input(kind: 1, content: "x", signal: .mention)
        let notification = try book(rule).notification(for: input, mode: mode)
        return mode == .alert ? notification?.native["pager"] : notification?.neutralPresentation.native["pager"]
    }

    @Test(arguments: [
        ("pager: { tnoe: soft }", "r.yaml:4:14: rules[0].pager: unknown key 'tnoe'; did you mean 'tone'?"),
        (
            "pager: { tone: loudd }",
            "r.yaml:4:20: rules[0].pager.tone: 'loudd' is none of soft, loud; did you mean 'loud'?"
        ),
        ("pager: { repeat: 10 }", "r.yaml:4:22: rules[0].pager.repeat: expected a whole number from 1 to 9"),
        ("pager: { colour: RED }", "r.yaml:4:22: rules[0].pager.colour: expected a colour's name"),
        (
            "pager: { quiet: yes, tone: loud }",
            "r.yaml:4:32: rules[0].pager.tone: what is quiet has no tone, not even 'loud'"
        ),
        ("pager: { code: {} }", "r.yaml:4:20: rules[0].pager.code: 'group' is missing: Its group."),
        ("title: x\n    pager: { score: 2 }", "r.yaml:5:21: rules[0].pager.score: expected a number from 0 to 1"),
        (
            "native: { pager: { tone: soft } }",
            "r.yaml:4:22: rules[0].native.pager: move this to the rule's key 'pager'; 'native' is for other plugins"
        ),
    ])
    func errorsAreReportedWithTheirPlaces(rule: String, expected: String) {
        #expect(mistakes(rule) == [expected])
    }

    @Test func platformWithoutItsOwnKeyIsCheckedUnderNative() {
        #expect(
            mistakes("native: { pager: { tnoe: soft } }", document: Self.nameless) == [
                "r.yaml:4:24: rules[0].native.pager: unknown key 'tnoe'; did you mean 'tone'?"
            ]
        )
        #expect(mistakes("native: { pager: { tone: soft } }", document: Self.nameless) == [])
        #expect(mistakes("native: { other: { tnoe: soft } }", document: Self.nameless) == [])
        #expect(
            mistakes("buzzer: { tone: soft }").first?.contains(
                "unknown key 'buzzer'; no loaded plugin has a block of that name; known here: "
            ) == true
        )
    }

    /// One plugin is missing, however many rules have a block for it.
    @Test func unknownBlockIsOneError() {
        let rules =
            "buzzer: { tone: soft }\n  - match: { kinds: [7] }\n    buzzer: { tone: loud }\n  - buzzer: {}\n    bell: {}"
        let found = mistakes(rules)
        #expect(found.count == 2)
        #expect(
            found.first?.hasPrefix("r.yaml:4:5: rules[0]: unknown key 'buzzer', also in lines 6, 7; no loaded") == true
        )
        #expect(found.last?.hasPrefix("r.yaml:8:5: rules[2]: unknown key 'bell'; no loaded plugin has") == true)
    }

    @Test func pluginChecksUndescribedConstraints() throws {
        let rule = "pager: { tone: soft, times: '{{zap.amount}}', code: { group: a, text: b } }"
        let checks: BlockChecks = [
            "pager": { block in
                block == #"{"tone":"soft","code":{"group":"a","text":"b"}}"# ? "/code/text: expected a number" : block
            }
        ]
        #expect(mistakes(rule, checks: checks) == ["r.yaml:4:75: rules[0].pager.code.text: expected a number"])
        #expect(
            mistakes("pager: {}", checks: ["pager": { _ in "too short" }]) == ["r.yaml:4:12: rules[0].pager: too short"]
        )
        #expect(
            mistakes("pager: { times: 2 }", checks: ["pager": { _ in "/repeat: odd" }]).first?.contains(":21:") == true
        )
        #expect(mistakes(rule, checks: ["pager": { _ in nil }]) == [])
    }

    @Test func itsBlockIsRendered() throws {
        #expect(try block("pager: { times: 3, quiet: true }") == #"{"repeat":3,"quiet":"yes"}"#)
        #expect(
            try block("body: { loc-key: CODE, default: x }\n    pager: { code: { group: a } }")
                == #"{"code":{"group":"a","text":"CODE"}}"#
        )
    }

    @Test func descriptionDecidesHowItsPushesWait() throws {
        func push(_ rule: String) throws -> PacedPush {
            try #require(try book(rule).rules.first).push(on: "pager", in: .alert)
        }
        #expect(try push("title: x").pace == .batch)
        #expect(try push("pager: { alarm: true }").pace == .immediate)
        #expect(try push("pager: { tone: soft }").type == "ping")
    }

    @Test func stricterModesKeepPresentationKeys() throws {
        #expect(try block("title: x\n    pager: { tone: soft, repeat: 3 }", mode: .nudge) == #"{"tone":"soft"}"#)
        #expect(try #require(try book("pager: { tone: soft }").rules.first).isSilent(on: "pager"))
        #expect(try !#require(try book("pager: { alarm: true }").rules.first).isSilent(on: "pager"))
    }

    @Test func summariesKeepPresentationKeys() throws {
        let book = try book(
            "title: x\n    pager: { tone: loud }\n  - match: { kinds: [2] }\n    signal: a\n    title: y\n    pager: { tone: soft }"
        )
        let summary = book.renderSummary(count: 2, signal: .mention, urgency: .normal, mode: .alert)
        #expect(summary.native["pager"] == #"{"repeat":2,"tone":"soft"}"#)
        #expect(
            mistakes("title: x\nsummary: { pager: { alarm: true } }") == [
                "r.yaml:5:28: summary.pager.alarm: a siren is for one event"
            ]
        )
    }

    @Test func schemaAndBuiltInRulesContainItsBlock() throws {
        let catalog = PlatformCatalog(["pager": try PlatformDescription(parsing: Self.document)])
        let schema = RuleSchema.text(platforms: catalog)
        #expect(schema.contains("The melody.") && !schema.contains("interruption-level"))
        #expect(RuleBook.defaultYAML(platforms: catalog).contains("\n    pager: { tone: \"soft\" }\n"))
        #expect(!RuleBook.defaultYAML(platforms: PlatformCatalog()).contains("blocks"))
        #expect(try !RuleBook.builtIn(platforms: catalog).rules.isEmpty)
    }
}
