import Testing
import YAMLReading

@testable import Rules

/// Rules that are well-formed and could never do what they seem to say.
@Suite struct UnmatchableRuleTests {
    private func mistakes(_ rules: String...) -> [String] {
        do {
            let files = rules.enumerated().map {
                RulesFile(name: "\($0)", text: "version: 1\nrules:\n" + $1 + "\n")
            }
            _ = try RuleBook(files: files)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test func aKindWithoutAWordNeedsASignal() {
        #expect(
            mistakes("- { match: { kinds: [1, 30402, 30023] }, title: a }") == [
                "0:3:3: rules[0]: 'signal' is missing: Carillon has no word for kind 30023, by which registrations would ask "
                    + "for it"
            ]
        )
        #expect(mistakes("- { match: { kinds: 30023 }, signal: article }").isEmpty)
        #expect(mistakes("- { match: { kinds: 30023 }, drop: true }").isEmpty)
        #expect(
            mistakes("- { match: { kinds: [1, 3, 4, 6, 7, 14, 16, 1059, 1111, 1808, 1809, 9735, 21059] } }").isEmpty
        )
    }

    @Test(arguments: [
        (
            "signal: mentoin",
            "signal: 'mentoin' is none of dm, mention, reply, reaction, repost, follow, zap; did you mean 'mention'?"
        ),
        ("signal: [dm, wallet]", "signal[1]: 'wallet' is none of dm, mention, reply, reaction, repost, follow, zap"),
        ("kinds: 9734, zap: { min: 21 }", "zap: only kind 9735 is a zap"),
        ("kinds: [7, 6], relation: reply", "relation: no event of these kinds is a reply, a quote or a mention"),
        ("tags: { e: yes }", "tags.e: expected true or false, or quotes around it if it is the tag's value"),
        (
            "tags: { expiration: no }",
            "tags.expiration: expected true or false, or quotes around it if it is the tag's value"
        ),
        ("language: de-AT-1996", "language: expected a language, as in de, pt-BR or zh-Hant"),
    ])
    func conditionsThatNeverHold(_ match: String, _ mistake: String) {
        let told = mistakes("- { match: { \(match) }, signal: hit }")
        #expect(told.count == 1 && told[0].hasSuffix("rules[0].match.\(mistake)"), "\(told)")
    }

    @Test func aRuleBehindOneForItsKindsIsAMistake() {
        let general = "- { name: any, match: { kinds: [7, 6] } }"
        let special = "- { match: { kinds: 7, content: '-' }, drop: true }"
        #expect(
            mistakes(general + "\n" + special) == [
                "0:4:3: rules[1]: no event gets here: up to the rule 'any' (0:3) all events of kind 7 are taken; rules with "
                    + "further conditions go before"
            ]
        )
        #expect(mistakes(special + "\n" + general).isEmpty)
        #expect(mistakes(general + "\n- { match: { kinds: [7, 1] } }").isEmpty)
        // An operator's own rules take the place of common ones.
        #expect(mistakes(general, special).isEmpty)
    }

    @Test func versionIsANumber() {
        let error = #expect(throws: Mistakes.self) { try RuleBook(yaml: "version: '1'\nrules: []", name: "r") }
        #expect(error?.description == "r:1:10: version: this Carillon reads version 1")
    }
}
