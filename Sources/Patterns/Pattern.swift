import CPCRE2

/// A regular expression in Perl's syntax (PCRE2), compiled once and applied to many values by any number of threads.
///
/// It matches anywhere in a value unless it says `^` or `$`; `\w`, `\d`, `\b` and the like know all of Unicode. A
/// ``PatternBudget`` bounds the cost of each match.
package struct Pattern: Sendable {
    /// The longest expression in bytes of UTF-8.
    package static let limit = 1024

    /// The result of matching a value.
    package enum Verdict: Sendable, Hashable {
        case matches
        case differs
        /// The budget ran out before the answer was known. Counts as no match, and is worth a report: somebody may want
        /// to cause it.
        case exceeded
    }

    /// As it was written.
    package let text: String
    private let code: PatternCode

    /// Throws ``PatternError`` if `text` is not a regular expression, or is too long.
    package init(_ text: String) throws(PatternError) {
        guard text.utf8.count <= Self.limit else {
            throw PatternError(message: "expected at most \(Self.limit) bytes", offset: nil)
        }
        self.text = text
        self.code = try PatternCode(text)
    }

    /// Whether `value` matches, with a budget of its own.
    package func match(_ value: String) -> Verdict {
        var budget = PatternBudget()
        return match(value, within: &budget)
    }

    /// Whether `value` matches, as far as `budget` allows; several values can share one.
    package func match(_ value: String, within budget: inout PatternBudget) -> Verdict {
        guard !budget.isUsedUp else { return .exceeded }
        // Native Swift strings are contiguous UTF-8.
        if let verdict = value.utf8.withContiguousStorageIfAvailable({ code.match($0, within: &budget) }) {
            return verdict
        }
        return Array(value.utf8).withUnsafeBufferPointer { code.match($0, within: &budget) }
    }
}

/// Why a text is not a regular expression.
package struct PatternError: Error, Hashable, CustomStringConvertible {
    /// In PCRE2's words, if PCRE2 refuses it.
    package let message: String
    /// How many characters of the expression come before the place; nil: it is about the whole.
    package let offset: Int?

    package var description: String {
        offset.map { "\(message) (after \($0) character\($0 == 1 ? "" : "s"))" } ?? message
    }
}

/// How much work is left for matching patterns.
///
/// Work is counted, not timed, so that the same value always gets the same verdict. A unit is a step of the matcher, or
/// eight bytes that it scans. The usual budget is a few milliseconds of CPU time.
package struct PatternBudget: Sendable {
    /// Enough to search a text of 64 KiB for most expressions.
    package static let usual = 150_000

    package private(set) var left: Int

    package init(units: Int = Self.usual) {
        left = units
    }

    package var isUsedUp: Bool { left <= 0 }

    mutating func spend(_ units: Int) {
        left -= units
    }

    mutating func exhaust() {
        left = 0
    }
}
