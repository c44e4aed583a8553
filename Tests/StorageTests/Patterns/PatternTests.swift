import Testing

@testable import Storage

@Suite struct PatternTests {
    @Test(arguments: [
        ("^urgent", "urgent: call me", true),
        ("^urgent", "not urgent", false),
        ("(?i)gm\\b", "GM everybody", true),
        ("(?i)gm\\b", "GMT", false),
        ("^\\w+$", "größer", true),
        ("^.$", "⚡", true),
        ("^\\d{4}-\\d{2}$", "2026-11", true),
        ("(\\w)\\1{3}", "aaaah", true),
        ("(\\w)\\1{3}", "aaah", false),
        ("^\\X$", "👨‍👩‍👧", true),
        ("", "", true),
        ("^$", "", true),
        ("x", "", false),
        ("\\x{0}", "\0", true),
    ])
    func saysWhetherAValueMatches(_ pattern: String, _ value: String, _ matches: Bool) throws {
        #expect(try Pattern(pattern).match(value) == (matches ? .matches : .differs))
    }

    @Test(arguments: [
        ("(a", "missing closing parenthesis", 2),
        ("é[z-a]", "range out of order in character class", 4),
        ("*a", "quantifier does not follow a repeatable item", 0),
        ("\\C", "using \\C is disabled by the application", 2),
        ("(?<=a*)b", "lookbehind assertion is not fixed length", 0),
        (
            String(repeating: "(", count: 101) + String(repeating: ")", count: 101),
            "parentheses are too deeply nested", 101
        ),
    ])
    func invalidPatternNamesTheErrorAndPlace(_ pattern: String, _ message: String, _ offset: Int) {
        let error = #expect(throws: PatternError.self) { try Pattern(pattern) }
        #expect(error == PatternError(message: message, offset: offset))
    }

    @Test func tooLongPatternIsRefused() throws {
        _ = try Pattern(String(repeating: "a", count: Pattern.limit))
        let error = #expect(throws: PatternError.self) { try Pattern(String(repeating: "a", count: Pattern.limit + 1)) }
        #expect(error?.description == "expected at most 1024 bytes")
        // Short to write and large to compile.
        #expect(throws: PatternError.self) { try Pattern("((((a{100}){100}){100}){100})") }
    }

    @Test func manyThreadsShareOne() async throws {
        let pattern = try Pattern("^(\\w+) pays (\\d+)$")
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    (0..<50).allSatisfy {
                        pattern.match("alice pays \(number + $0)") == .matches && pattern.match("bob pays") == .differs
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func severalValuesShareABudget() throws {
        let pattern = try Pattern("(a+)+$")
        var budget = PatternBudget()
        #expect(pattern.match("aaa", within: &budget) == .matches)
        #expect((1..<100).contains(PatternBudget.usual - budget.left))
        #expect(pattern.match(String(repeating: "a", count: 100) + "!", within: &budget) == .exceeded)
        #expect(budget.isUsedUp)
        #expect(pattern.match("aaa", within: &budget) == .exceeded)
    }
}
