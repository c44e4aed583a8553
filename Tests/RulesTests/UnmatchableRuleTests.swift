import PlatformTestSupport
import Storage
import Testing

@testable import Rules

/// Well-formed rules that could never have their apparent effect.
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

    @Test func kindWithoutADefaultSignalNeedsOne() {
        #expect(
            mistakes("- { match: { kinds: [1, 30402, 30023] }, title: a }") == [
                "0:3:3: rules[0]: 'signal' is missing: Carillon has no default signal for kind 30023"
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
        ("kinds: 7, signal: dm", "signal: no event of these kinds has this signal"),
        ("kinds: [1, 7], signal: [zap, follow]", "signal: no event of these kinds has this signal"),
        ("kinds: 30402, signal: mention", "signal: no event of these kinds has this signal"),
        ("zap: { min: 21 }, signal: reaction", "signal: 'zap' matches only zaps, whose signal is zap"),
        (
            "zap: { min: 21 }, relation: reply",
            "relation: 'zap' matches only zaps, which are never a reply, a quote or a mention"
        ),
        (
            "relation: quote, signal: reply",
            "relation: a reply has the signal reply, a quote or a mention has mention, others have none"
        ),
        (
            "relation: [reply, mention], signal: dm",
            "relation: a reply has the signal reply, a quote or a mention has mention, others have none"
        ),
        (
            "relation: quote, tags: { q: false }",
            "relation: a quote needs a q tag (NIP-18), which 'tags' excludes"
        ),
        (
            "kinds: 1, relation: reply, tags: { e: false }",
            "relation: a reply needs an e tag (NIP-10), which 'tags' excludes"
        ),
        ("p_tags: { max: 0 }", "p_tags: every event names its recipient in a p tag"),
        (
            "tags: { p: false }",
            "tags: 'p: false' never holds: every event names its recipient in a p tag"
        ),
        ("language: de-AT-1996", "language: expected a language, as in de, pt-BR or zh-Hant"),
    ])
    func impossibleConditionsAreErrors(_ match: String, _ mistake: String) {
        let told = mistakes("- { match: { \(match) }, signal: hit }")
        #expect(told.count == 1 && told[0].hasSuffix("rules[0].match.\(mistake)"), "\(told)")
    }

    @Test(arguments: [
        "kinds: [1, 7], signal: reaction", "kinds: 1111, relation: reply, tags: { e: false }",
        "relation: [reply, quote], signal: mention", "relation: [reply, quote], tags: { q: false }",
        "zap: { min: 21 }, signal: [zap, dm]", "p_tags: { min: 1, max: 1 }", "tags: { p: true }",
    ])
    func possibleConditionsAreAccepted(_ match: String) {
        #expect(mistakes("- { match: { \(match) }, signal: hit }") == [])
    }

    @Test func dropRuleMustNotSetOtherKeys() {
        let told = mistakes(
            "- { name: a, match: { kinds: 7 }, drop: true, title: t, signal: s, apns: { badge: 1 }, urgency: low }"
        )
        #expect(
            told.map { $0.split(separator: " ", maxSplits: 1)[1] }
                == ["title", "signal", "apns", "urgency"].map {
                    "rules[0].\($0): the rule drops its events, so this has no effect: remove '\($0)' or 'drop'"
                }
        )
        #expect(mistakes("- { name: a, match: { kinds: 7 }, drop: false, title: t }") == [])
    }

    @Test func ruleNamesAreUniqueWithinAFile() {
        let one = "- { name: like, match: { kinds: 7 } }"
        #expect(
            mistakes(one + "\n- { name: like, match: { kinds: 6 } }")
                == ["0:4:11: rules[1].name: the rule in line 3 is also called 'like'"]
        )
        // An operator's own rules may replace common ones.
        #expect(mistakes(one, one) == [])
    }

    @Test func ruleAfterACatchAllForItsKindsIsAnError() {
        let general = "- { name: any, match: { kinds: [7, 6] } }"
        let special = "- { match: { kinds: 7, content: '-' }, drop: true }"
        #expect(
            mistakes(general + "\n" + special) == [
                "0:4:3: rules[1]: no event gets here: the rules up to 'any' (0:3) take all events of kind 7. "
                    + "Put rules with more conditions first."
            ]
        )
        #expect(mistakes(special + "\n" + general).isEmpty)
        #expect(mistakes(general + "\n- { match: { kinds: [7, 1] } }").isEmpty)
        // An operator's own rules replace common ones.
        #expect(mistakes(general, special).isEmpty)
    }

    @Test func versionIsANumber() {
        let error = #expect(throws: Diagnostics.self) { try RuleBook(yaml: "version: '1'\nrules: []", name: "r") }
        #expect(error?.description == "r:1:10: version: this Carillon reads version 1")
    }
}
