import PlatformTestSupport
import Storage
import Testing

@testable import Rules

@Suite struct MatchReadingTests {
    private func mistakes(_ yaml: String) -> [String] {
        do {
            _ = try RuleBook(yaml: yaml, name: "rules.yaml")
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test(arguments: [
        ("{ tag: { t: a } }", "rules.yaml:3:14: rules[0].match: unknown key 'tag'; did you mean 'tags'?"),
        ("{ kinds: [] }", "rules.yaml:3:21: rules[0].match.kinds: expected at least one"),
        ("{ kinds: 1.5 }", "rules.yaml:3:21: rules[0].match.kinds: expected a whole number from 0 to 65535"),
        ("{ content: [] }", "rules.yaml:3:23: rules[0].match.content: expected at least one"),
        (
            "{ content: { matches: '(a' } }",
            "rules.yaml:3:34: rules[0].match.content.matches: not a regular expression: missing closing parenthesis "
                + "(after 2 characters)"
        ),
        (
            "{ content: { equals: a } }",
            "rules.yaml:3:25: rules[0].match.content: unknown key 'equals'; known here: matches",
        ),
        ("{ content: {} }", "rules.yaml:3:23: rules[0].match.content: 'matches' is missing: a regular expression"),
        ("{ tags: [t] }", "rules.yaml:3:20: rules[0].match.tags: expected a mapping"),
        ("{ tags: {} }", "rules.yaml:3:20: rules[0].match.tags: expected at least one tag, as in { t: nostr }"),
        ("{ tags: { '': a } }", "rules.yaml:3:26: rules[0].match.tags.: expected a tag's name of 1 to 64 bytes"),
        (
            "{ tags: { t: { matches: '*' } } }",
            "rules.yaml:3:36: rules[0].match.tags.t.matches: not a regular expression: quantifier does not follow a "
                + "repeatable item (after 0 characters)"
        ),
        ("{ zap: 21 }", "rules.yaml:3:19: rules[0].match.zap: expected a mapping with min, max"),
        ("{ zap: {} }", "rules.yaml:3:19: rules[0].match.zap: expected min, max or both"),
        ("{ zap: { min: 2, max: 1 } }", "rules.yaml:3:19: rules[0].match.zap: min is more than max"),
        (
            "{ zap: { min: -1 } }",
            "rules.yaml:3:26: rules[0].match.zap.min: expected a whole number from 0 to 2100000000000000"
        ),
        (
            "{ p_tags: { mim: 2 } }",
            "rules.yaml:3:24: rules[0].match.p_tags: unknown key 'mim'; did you mean 'min'?"
        ),
        ("{ followed: maybe }", "rules.yaml:3:24: rules[0].match.followed: expected true or false"),
        (
            "{ language: [german] }",
            "rules.yaml:3:25: rules[0].match.language[0]: expected a language, as in de, pt-BR or zh-Hant"
        ),
        (
            "{ signal: DM }",
            "rules.yaml:3:22: rules[0].match.signal: 'DM' is none of dm, mention, reply, reaction, repost, follow, zap; did you mean 'dm'?"
        ),
    ])
    func errorsNameThePlaceAndTheExpectedValue(_ match: String, _ mistake: String) {
        #expect(mistakes("version: 1\nrules:\n  - match: \(match)\n").contains(mistake))
    }

    @Test func unreachableRuleIsAnError() {
        let rules = """
            version: 1
            rules:
              - { name: first, match: { kinds: 1 } }
              - { name: all, match: {} }
              - { name: never, match: { kinds: 7 } }
              - { name: nor this, match: { kinds: 6 } }
            """
        #expect(
            mistakes(rules) == [
                "rules.yaml:5:5: rules[2]: no event gets here: the rule 'all' (rules.yaml:4) has no conditions, so every "
                    + "event stops there"
            ]
        )
        // After another error, the intent is not certain.
        #expect(
            mistakes("version: 1\nrules: [{ match: { kidns: 1 } }, { match: { kinds: 7 } }]")
                == ["rules.yaml:2:20: rules[0].match: unknown key 'kidns'; did you mean 'kinds'?"]
        )
        #expect(mistakes("version: 1\nrules: [{ match: { kinds: 1 } }, { drop: true }]").isEmpty)
    }
}
