import Nostr
import PlatformTestSupport
import Testing

@testable import Rules

/// What strangers write costs a pattern so much and no more, and an operator learns of it.
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

    @Test func whatExceedsTheBudgetDoesNotMatchAndIsCountedOnceAnEvent() throws {
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

    @Test func aDearAnswerIsOfItsEventOnly() {
        // Dear, but within the budget.
        let long = String(repeating: "b", count: 50_000)
        #expect(name(question(1, content: long + "a")) == "greedy")
        #expect(name(question(2, content: long)) == "plain")
        #expect(name(question(1, content: long + "a")) == "greedy")
        // Nor of another that only says to have its id.
        #expect(name(question(1, content: long)) == "plain")
    }
}
