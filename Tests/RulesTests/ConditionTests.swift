import Foundation
import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Conditions on people, devices, all places of tags, numbers and fields of JSON content.
@Suite struct ConditionTests {
    private static let alice = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
    private static let npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
    private static let bob = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"

    private func book(_ match: String, files: [String: String] = [:]) throws -> RuleBook {
        try RuleBook(files: [
            RulesFile(name: "r.yaml", text: "version: 1\nrules:\n  - { match: \(match), signal: hit }\n") {
                name throws(RulesFile.Unreadable) in
                guard let text = files[name] else { throw RulesFile.Unreadable("cannot be read") }
                return text
            }
        ])
    }

    private func holds(_ match: String, _ question: RuleQuestion, files: [String: String] = [:]) throws -> Bool {
        if case .notify = try book(match, files: files).decide(question) { return true }
        return false
    }

    private func question(_ tags: [[String]] = [], content: String = "") -> RuleQuestion {
        RuleQuestion(event: Fixture.event(kind: 1, content: content, tags: tags), recipient: PublicKey(hex: Self.bob))
    }

    private func mistakes(_ match: String, files: [String: String] = [:]) -> [String] {
        do {
            _ = try book(match, files: files)
            return []
        } catch {
            return (error as? Diagnostics)?.all.map(\.message) ?? []
        }
    }

    @Test(arguments: [
        (npub, true), (alice, true), (alice.uppercased(), true), (bob, false), ("[\(bob), \(npub)]", true),
        ("{ file: keys.txt }", true), ("{ file: others.txt }", false),
    ])
    func peopleAreNamedByKey(_ keys: String, _ isRight: Bool) throws {
        let files = [
            "keys.txt": "# whom we know\n\n \(Self.bob)  # bob\n\(Self.npub)\r\n", "others.txt": "\(Self.bob)\n",
        ]
        let alice = try #require(PublicKey(hex: Self.alice))
        var question = question()
        question.author = alice
        #expect(try holds("{ author: \(keys) }", question, files: files) == isRight)
        question = self.question()
        question.recipient = alice
        #expect(try holds("{ recipient: \(keys) }", question, files: files) == isRight)
        question = self.question([["p", "no key"], ["p"], ["p", Self.alice]])
        #expect(try holds("{ p: \(keys) }", question, files: files) == isRight)
        #expect(try !holds("{ recipient: \(keys) }", RuleQuestion(event: question.event), files: files))
    }

    /// No tag that conditions can test contains the sender of a zap.
    @Test func theAuthorOfAZapIsItsSender() throws {
        let sender = try #require(PublicKey(hex: Self.alice))
        let question = RuleQuestion(event: Fixture.event(kind: 9735, content: ""), author: sender)
        #expect(try holds("{ author: \(Self.npub) }", question))
    }

    @Test(arguments: [
        ("{ platform: ios }", true), ("{ platform: [android, ios] }", true), ("{ platform: web }", false),
        ("{ app: shop }", true), ("{ app: default }", false), ("{ app: shop, platform: web }", false),
    ])
    func deviceConditionsAreDistinguished(_ match: String, _ isRight: Bool) throws {
        var question = question()
        (question.platform, question.app) = ("ios", "shop")
        #expect(try holds(match, question) == isRight)
        let book = try book(match)
        #expect(book.asksForPlatform == match.contains("platform") && book.asksForApp == match.contains("app:"))
    }

    @Test(arguments: [
        ("{ t: { any: c } }", true), ("{ t: { any: [x, b] } }", true), ("{ t: { any: x } }", false),
        ("{ t: { any: { matches: ^c } } }", true), ("{ t: { 2: b } }", true), ("{ t: { 2: a } }", false),
        ("{ t: { 1: a, 2: b } }", true), ("{ t: { 1: d, 2: b } }", false),
        ("{ t: { 1: d, 2: { matches: . } } }", false),
        ("{ t: { 1: d } }", true), ("{ t: { 9: a } }", false), ("{ p: { recipient: true } }", true),
        ("{ p: { recipient: true, 3: Host } }", false), ("{ p: { recipient: true, 3: Speaker } }", true),
        ("{ p: { 3: Host } }", true), ("{ t: { any: { min: 5 } } }", true), ("{ t: { any: { min: 6 } } }", false),
    ])
    func everyTagPositionCanBeMatched(_ tags: String, _ isRight: Bool) throws {
        let question = question([
            ["t", "a", "b", "c", "5"], ["t", "d"], ["t"],
            ["p", Self.alice, "", "Host"], ["p", Self.bob, "wss://r.example", "Speaker"],
        ])
        #expect(try holds("{ tags: \(tags) }", question) == isRight)
    }

    @Test func recipientTagsDoNotMatchWithoutARecipient() throws {
        let event = question([["p", Self.bob]]).event
        #expect(try !holds("{ tags: { p: { recipient: true } } }", RuleQuestion(event: event)))
    }

    @Test(arguments: [
        ("{ min: 10 }", "10", true), ("{ min: 10 }", "9.99", false), ("{ max: 10 }", "-3", true),
        ("{ min: 0.5, max: 0.75 }", "0.6", true), ("{ min: 10 }", "", false), ("{ min: 0 }", "1e3", false),
        ("{ min: 0 }", "0x10", false), ("{ min: 0 }", "nan", false), ("{ min: 0 }", " 5", false),
    ])
    func aTagsNumberIsWithinBounds(_ range: String, _ value: String, _ isRight: Bool) throws {
        #expect(try holds("{ tags: { amount: \(range) } }", question([["amount", value]])) == isRight)
    }

    @Test(arguments: [
        ("{ total: { min: 100 } }", true), ("{ total: { max: 100 } }", false), ("{ paid: true }", true),
        ("{ paid: false }", false), ("{ status: [new, paid] }", true), ("{ status: { matches: ^p } }", true),
        ("{ items.1.name: tea }", true), ("{ items.2.name: tea }", false),
        ("{ items.0.price: { min: 2.5, max: 2.5 } }", true),
        ("{ items.0.price: '2.50' }", true), ("{ huge: { min: 1000000 } }", true), ("{ nothing: '' }", false),
        ("{ items: { matches: . } }", false), ("{ total: 120, paid: true }", true),
    ])
    func jsonContentFieldsAreMatched(_ fields: String, _ isRight: Bool) throws {
        let content = """
             {"total":120,"paid":true,"status":"paid","nothing":null,"huge":1.5e6,
              "items":[{"name":"coffee","price":2.50},{"name":"tea","price":1}]}
            """
        #expect(try holds("{ json: \(fields) }", question(content: content)) == isRight)
    }

    @Test(arguments: ["", "hello", "120", "{\"total\":120", "{\"total\":1,\"total\":120}"])
    func invalidJSONObjectHasNoFields(_ content: String) throws {
        #expect(try !holds("{ json: { total: { min: 0 } } }", question(content: content)))
    }

    @Test func largeContentIsNotParsedAsJSON() throws {
        let content = "{\"total\":120,\"x\":\"\(String(repeating: "x", count: 66_000))\"}"
        #expect(try !holds("{ json: { total: 120 } }", question(content: content)))
    }

    @Test(arguments: [
        ("{ author: alice }", "expected a public key: npub1… or 64 hex digits"),
        ("{ author: [] }", "expected at least one key"),
        ("{ p: { fil: a } }", "unknown key 'fil'; did you mean 'file'?"),
        ("{ recipient: { file: gone.txt } }", "gone.txt: cannot be read"),
        ("{ author: { file: bad.txt } }", "line 2 of bad.txt: expected a public key: npub1… or 64 hex digits"),
        (
            "{ author: { file: secret.txt } }",
            "line 1 of secret.txt: this is a secret key: expected npub1… or 64 hex digits, and take it out of this file"
        ),
        ("{ platform: apns }", "expected the platform's name: 'ios' is its name in registrations"),
        ("{ app: '' }", "expected a name of 1 to 64 bytes"),
        ("{ tags: { t: { 10: a } } }", "unknown key '10'; did you mean '1'?"),
        (
            "{ tags: { t: { min: 1, 2: b } } }",
            "put the condition on the first value into '1', as in { 1: …, 2: … }"
        ),
        (
            "{ tags: { t: { 1: { matches: a }, 2: { matches: b } } } }",
            "expected at most one regular expression for a tag"
        ),
        (
            "{ tags: { t: { recipient: true, 2: { matches: b } } } }",
            "a regular expression cannot be combined with 'recipient'"
        ),
        ("{ tags: { t: { recipient: false } } }", "expected true: the tag's first value is the recipient's key"),
        ("{ tags: { t: { min: a } } }", "expected a number"),
        ("{ tags: { t: { min: 2, max: 1 } } }", "min is more than max"),
        ("{ tags: { t: { matches: a, min: 1 } } }", "a number cannot be matched: expected only 'matches'"),
        ("{ tags: { t: {} } }", "expected 'matches', 'min' or 'max'"),
        ("{ json: {} }", "expected at least one field, as in { order.total: { min: 100 } }"),
        (
            "{ json: { a..b: 1 } }",
            "expected a path of at most 8 names separated by dots, such as order.total"
        ),
        ("{ json: { a: yes } }", "expected true or false, or quotes around it if it is the field's value"),
    ])
    func errorsNameTheExpectedValue(_ match: String, _ message: String) {
        let files = [
            "bad.txt": "\(Self.npub)\nalice\n",
            "secret.txt": "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
        ]
        let told = mistakes(match, files: files)
        #expect(told.contains { $0.hasSuffix(": " + message) }, "\(told)")
        #expect(told.allSatisfy { !$0.contains("vl029mgpspedva") })
    }

    @Test func expensivePatternIsEvaluatedOnce() throws {
        let values = (0..<50).map { String(repeating: "a", count: 30) + "\($0)" }
        let book = try book("{ tags: { t: { any: { matches: '(a+)+$' } } } }")
        let question = question([["t"] + values])
        for _ in 0..<3 { _ = book.decide(question) }
        #expect(book.exceededPatterns == ["rule-1": 1])
    }
}

/// A pattern's cost on untrusted text is limited, and the operator learns when it reaches the limit.
@Suite struct DearPatternTests {
    private let book = try? RuleBook(
        yaml: """
            version: 1
            rules:
              - { name: greedy, match: { content: { matches: "(a+)+$" } }, signal: hit }
              - { name: tagged, match: { tags: { t: { matches: "(a+)+$" } } }, signal: hit }
              - { name: plain, match: { kinds: 1 }, signal: other }
            """,
        name: "rules.yaml"
    )
    private static let hostile = String(repeating: "a", count: 60_000) + "!"

    private func question(_ number: UInt64, content: String, tags: [[String]] = []) -> RuleQuestion {
        var event = Fixture.event(kind: 1, content: content)
        event.id = EventID(Bytes32(words: (number, 0, 0, 0)))
        event.tags = tags
        return RuleQuestion(event: event)
    }

    private func name(_ question: RuleQuestion) -> String? {
        guard case .notify(let rule, _) = book?.decide(question) else { return nil }
        return rule.name
    }

    @Test func patternOverItsBudgetDoesNotMatchAndIsCountedOncePerEvent() throws {
        let book = try #require(book)
        #expect(name(question(1, content: "aaa")) == "greedy")
        #expect(book.exceededPatterns.isEmpty)
        for _ in 0..<1000 { #expect(name(question(2, content: Self.hostile)) == "plain") }
        #expect(book.exceededPatterns == ["greedy": 1])
        #expect(name(question(3, content: Self.hostile)) == "plain")
        #expect(name(question(4, content: "a")) == "greedy")
        #expect(book.exceededPatterns == ["greedy": 2])
    }

    @Test func manyTagsShareOneBudget() throws {
        let book = try #require(book)
        let tags = Array(repeating: ["t", String(repeating: "a", count: 12) + "!"], count: 4000)
        #expect(name(question(1, content: "", tags: tags)) == "plain")
        #expect(book.exceededPatterns == ["tagged": 1])
        #expect(name(question(2, content: "", tags: [["t", "b"], ["t", "a"]])) == "tagged")
    }

    @Test func expensiveResultIsCachedPerEvent() {
        // Expensive, but within the budget.
        let long = String(repeating: "b", count: 50_000)
        #expect(name(question(1, content: long + "a")) == "greedy")
        #expect(name(question(2, content: long)) == "plain")
        #expect(name(question(1, content: long + "a")) == "greedy")
        // Nor of another event that only claims to have its id.
        #expect(name(question(1, content: long)) == "plain")
    }
}
