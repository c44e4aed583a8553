import CPCRE2

/// A regular expression in Perl's syntax (PCRE2), compiled once and applied to many values by any number of threads.
///
/// It matches anywhere in a value unless it says `^` or `$`; `\w`, `\d`, `\b` and the like know all of Unicode. What one
/// application costs is bounded by a ``PatternBudget``, whoever wrote the value.
package struct Pattern: Sendable {
    /// The longest expression in bytes of UTF-8.
    package static let limit = 1024

    /// What came of applying a pattern to a value.
    package enum Verdict: Sendable, Hashable {
        case matches
        case differs
        /// The budget was used up before the answer was found. Counts as no match; worth telling, as somebody may want that.
        case exceeded
    }

    /// As it was written.
    package let text: String
    private let code: PatternCode

    /// Throws ``PatternError`` for what is no regular expression, or too long a one.
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
        // Strings of Swift's own are one run of UTF-8.
        if let verdict = value.utf8.withContiguousStorageIfAvailable({ code.match($0, within: &budget) }) {
            return verdict
        }
        return Array(value.utf8).withUnsafeBufferPointer { code.match($0, within: &budget) }
    }
}

/// Why a text is no regular expression.
package struct PatternError: Error, Hashable, CustomStringConvertible {
    /// In PCRE2's words, where it is PCRE2 that refuses.
    package let message: String
    /// How many characters of the expression come before the place; nil: it is about the whole.
    package let offset: Int?

    package var description: String {
        offset.map { "\(message) (after \($0) character\($0 == 1 ? "" : "s"))" } ?? message
    }
}

/// How much work applying patterns may still be.
///
/// Work is counted and not timed, so that the same value always comes to the same verdict: a unit is a step of the matcher, or
/// eight bytes that it runs over. The usual budget is a few milliseconds of a processor's time.
package struct PatternBudget: Sendable {
    /// Enough to look for most expressions all over a text of 64 KiB.
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
