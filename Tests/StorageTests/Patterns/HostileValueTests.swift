import Foundation
import Testing

@testable import Storage

/// Values that an attacker chose to keep a matcher busy. Without limits, most patterns here take hours or all memory.
@Suite struct HostileValueTests {
    private static let size = 65_536

    private static func filled(_ unit: String, end: String) -> String {
        String(repeating: unit, count: (size - end.utf8.count) / unit.utf8.count) + end
    }

    /// A pattern, a repeated string, and the end of the value.
    struct Attack: Sendable, CustomTestStringConvertible {
        let pattern: String
        let unit: String
        let end: String

        init(_ pattern: String, _ unit: String, _ end: String) {
            (self.pattern, self.unit, self.end) = (pattern, unit, end)
        }

        var testDescription: String { pattern }
    }

    @Test(arguments: [
        // Exponential at one place.
        Attack("(a+)+$", "a", "!"),
        Attack("^(a|aa)+$", "a", "!"),
        Attack("^(\\w+\\s?)*$", "a", "!"),
        Attack("^(([a-z])+.)+[A-Z]([a-z])+$", "a", "!"),
        Attack("(x+x+)+y", "x", "!y"),
        Attack("^(?:.*?,){11}P", "1,2,", "3"),
        // Little at each place, and 64 Ki places.
        Attack("[ab]+cd", "ab", "d"),
        Attack("[a-f0-9]{5000}z", "a", "z"),
        Attack("(?:a{4000}){2}b", "a", "cb"),
        Attack("\\s+;x", " ", "x"),
        Attack("a.*b.*c.*d", "abc", ""),
        // Runs that fail unseen.
        Attack("(.+)\\1{2}z", "abbabaab", "z"),
        Attack("(?i)(.+)\\1\\1z", "ſßa", "z"),
        Attack("\\X{5}z", "e\u{301}\u{302}\u{303}", "z"),
        Attack("(*sr:\\w+)z", "aа", "z"),
        // Deep.
        Attack("^(?:a|b)*c", "ab", "!"),
        Attack("^(a(?1)?b)", "a", "!"),
        Attack("(?=(a+))(?=(a+))(?=(a+))b", "a", "b"),
        Attack("(?<!a{3000})z", "a", "z"),
    ])
    func hostileValueTakesAFewMilliseconds(_ attack: Attack) throws {
        let pattern = try Pattern(attack.pattern)
        let value = Self.filled(attack.unit, end: attack.end)
        var budget = PatternBudget()
        let start = Self.threadTime()
        let decision = pattern.match(value, within: &budget)
        let spent = Self.threadTime() - start
        #expect(decision != .matches)
        #expect(spent < 1, "a few milliseconds, and room for a busy machine and a debug build")
    }

    @Test(arguments: [
        Attack("(?i)\\bbitcoin\\b", "The quick brown fox jumps over the lazy dog. ", "Bitcoin!"),
        Attack("[\\w.]+@[\\w.]+", "The quick brown fox jumps over the lazy dog. ", "a@b.example"),
        Attack("https?://\\S+$", "see http:// and the lazy dog. ", "https://example.com"),
        Attack("(?s)^.*end$", "naïve café — ", "end"),
        Attack("nostr:n(pub|profile)1[a-z0-9]+", "nostr is a protocol, not a nostrum; ", "nostr:npub1xyz"),
    ])
    func longTextsAreStillSearched(_ attack: Attack) throws {
        var budget = PatternBudget()
        let decision = try Pattern(attack.pattern).match(Self.filled(attack.unit, end: attack.end), within: &budget)
        #expect(decision == .matches)
    }

    @Test func verdictsDoNotDependOnTheClock() throws {
        let pattern = try Pattern("^(\\w+\\s?)*$")
        let value = "aaaaaaaaaaaaaaaaa!"
        var (first, second) = (PatternBudget(), PatternBudget())
        #expect(pattern.match(value, within: &first) == pattern.match(value, within: &second))
        #expect(first.left == second.left)
    }

    /// Seconds that this thread has worked.
    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
