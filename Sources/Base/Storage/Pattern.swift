import CPCRE2

/// A regular expression in Perl syntax (PCRE2), compiled once and thread-safe.
///
/// It matches anywhere in a value unless it has `^` or `$`; `\w`, `\d`, `\b` and the like support all of Unicode. A
/// ``PatternBudget`` bounds the cost of each match.
package struct Pattern: Sendable {
    /// The maximum length of an expression in bytes of UTF-8.
    package static let limit = 1024

    /// The result of matching a value.
    package enum Outcome: Sendable, Hashable {
        case matches
        case differs
        /// The budget was exceeded before the result was known. Counts as no match and should be reported, because it
        /// may be an attack.
        case exceeded
    }

    /// The original expression.
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

    /// Matches `value` with its own budget.
    package func match(_ value: String) -> Outcome {
        var budget = PatternBudget()
        return match(value, within: &budget)
    }

    /// Matches `value` within `budget`, which several values can share.
    package func match(_ value: String, within budget: inout PatternBudget) -> Outcome {
        guard !budget.isUsedUp else { return .exceeded }
        // Native Swift strings are contiguous UTF-8.
        if let outcome = value.utf8.withContiguousStorageIfAvailable({ code.match($0, within: &budget) }) {
            return outcome
        }
        return Array(value.utf8).withUnsafeBufferPointer { code.match($0, within: &budget) }
    }
}

/// The reason why a string is not a valid regular expression.
package struct PatternError: Error, Hashable, CustomStringConvertible {
    /// PCRE2's message, if PCRE2 refuses it.
    package let message: String
    /// The number of characters before the error; nil: the error is about the whole expression.
    package let offset: Int?

    package var description: String {
        offset.map { "\(message) (after \($0) character\($0 == 1 ? "" : "s"))" } ?? message
    }
}

/// The remaining budget for matching patterns.
///
/// Work is counted, not timed, so that the same value always has the same result. A unit is a step of the matcher, or
/// eight bytes that it scans. The usual budget is a few milliseconds of CPU time.
package struct PatternBudget: Sendable {
    /// Enough for most expressions to search a text of 64 KiB.
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

/// A compiled expression. PCRE2 does not change it, so any thread may match with it.
final class PatternCode: @unchecked Sendable {
    /// The maximum memory of one match for backtracking, in KiB.
    private static let heapLimit: UInt32 = 4096
    /// PCRE2's own limit on backtracking: as many steps at one place as the usual budget has units.
    private static let matchLimit = UInt32(PatternBudget.usual)
    /// The maximum depth of nested parentheses, because the compiler is recursive.
    private static let nestLimit: UInt32 = 100

    private let code: OpaquePointer
    private let price: Int
    private let hidden: Int
    private let hasBackReferences: Bool

    init(_ text: String) throws(PatternError) {
        code = try Self.compile(text)
        price = 1 + Self.info(code, PCRE2_INFO_FRAMESIZE, as: Int.self) / 512
        hidden = UnseenRun.longest(in: text)
        hasBackReferences = Self.info(code, PCRE2_INFO_BACKREFMAX, as: UInt32.self) > 0
    }

    deinit {
        pcre2_code_free_8(code)
    }

    func match(_ value: UnsafeBufferPointer<UInt8>, within budget: inout PatternBudget) -> Pattern.Outcome {
        // One pair of offsets is enough to check for a match.
        guard let data = pcre2_match_data_create_8(1, nil) else { return .exceeded }
        defer { pcre2_match_data_free_8(data) }
        guard let context = pcre2_match_context_create_8(nil) else { return .exceeded }
        defer { pcre2_match_context_free_8(context) }
        pcre2_set_match_limit_8(context, Self.matchLimit)
        pcre2_set_depth_limit_8(context, Self.matchLimit)
        pcre2_set_heap_limit_8(context, Self.heapLimit)

        var meter = PatternMeter(price: price, hidden: hidden, hasBackReferences: hasBackReferences, budget: budget)
        let result = withUnsafeMutablePointer(to: &meter) { meter in
            pcre2_set_callout_8(context, payForItem, meter)
            // Strings are valid UTF-8. An empty one may have no address, which PCRE2 accepts only since 10.40.
            return withUnsafePointer(to: UInt8(0)) { nothing in
                pcre2_match_8(code, value.baseAddress ?? nothing, value.count, 0, PCRE2_NO_UTF_CHECK, data, context)
            }
        }
        budget = meter.budget
        switch result {
        case 0...: return .matches
        case PCRE2_ERROR_NOMATCH: return .differs
        default:
            // PCRE2 reached an internal limit before the meter did.
            budget.exhaust()
            return .exceeded
        }
    }

    private static func compile(_ text: String) throws(PatternError) -> OpaquePointer {
        guard let context = pcre2_compile_context_create_8(nil) else {
            throw PatternError(message: "no memory to compile it", offset: nil)
        }
        defer { pcre2_compile_context_free_8(context) }
        pcre2_set_parens_nest_limit_8(context, nestLimit)
        // `\C` would split characters.
        let options = PCRE2_UTF | PCRE2_UCP | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C
        var (error, offset) = (Int32(0), 0)
        let bytes = Array(text.utf8)
        // An empty array may have no address either.
        let code = (bytes + [0]).withUnsafeBufferPointer {
            pcre2_compile_8($0.baseAddress, bytes.count, options, &error, &offset, context)
        }
        if let code { return code }
        let before = String(decoding: bytes.prefix(offset), as: UTF8.self).count
        throw PatternError(message: message(of: error), offset: before)
    }

    private static func message(of error: Int32) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { room in
            let count = pcre2_get_error_message_8(error, room.baseAddress, room.count)
            guard count > 0 else { return "not a regular expression" }
            return String(decoding: room.prefix(Int(count)), as: UTF8.self)
        }
    }

    private static func info<Number: FixedWidthInteger>(
        _ code: OpaquePointer,
        _ what: Int32,
        as type: Number.Type
    ) -> Number {
        var number: Number = 0
        _ = pcre2_pattern_info_8(code, UInt32(what), &number)
        return number
    }
}

private func payForItem(
    _ block: UnsafeMutablePointer<pcre2_callout_block_8>?,
    _ meter: UnsafeMutableRawPointer?
) -> Int32 {
    guard let block, let meter = meter?.assumingMemoryBound(to: PatternMeter.self) else { return PCRE2_ERROR_CALLOUT }
    return meter.pointee.pay(block) ? 0 : PCRE2_ERROR_CALLOUT
}

/// Counts the work of one match. PCRE2 calls it before each item of the expression (automatic callouts).
///
/// PCRE2's match limit is not sufficient: it restarts at each possible start of a match, and it does not count the
/// characters that an item scans. Here each item costs its distance from the previous one, plus the characters that a
/// failing item may have scanned without a callout.
struct PatternMeter {
    /// The minimum cost of each call.
    let price: Int
    /// The maximum number of characters that an item may scan without a callout, except for back references.
    let hidden: Int
    let hasBackReferences: Bool
    var budget: PatternBudget
    private var position = 0

    init(price: Int, hidden: Int, hasBackReferences: Bool, budget: PatternBudget) {
        self.price = price
        self.hidden = hidden
        self.hasBackReferences = hasBackReferences
        self.budget = budget
    }

    /// Charges an item. Returns whether the matcher may continue.
    mutating func pay(_ block: UnsafePointer<pcre2_callout_block_8>) -> Bool {
        let moved = Int(block.pointee.current_position) - position
        position = Int(block.pointee.current_position)
        var unseen = min(hidden, Int(block.pointee.subject_length))
        if hasBackReferences { unseen = max(unseen, Self.longestCapture(block)) }
        budget.spend(price + (max(0, moved) + unseen) >> 3)
        return !budget.isUsedUp
    }

    private static func longestCapture(_ block: UnsafePointer<pcre2_callout_block_8>) -> Int {
        guard let offsets = block.pointee.offset_vector, block.pointee.capture_top > 1 else { return 0 }
        var longest = 0
        for group in 1..<Int(block.pointee.capture_top) {
            let (start, end) = (offsets[2 * group], offsets[2 * group + 1])
            // Unset groups have the largest number on both sides.
            if end > start { longest = max(longest, end - start) }
        }
        return longest
    }
}

/// Computes how far one item of an expression may scan a value and then fail without a callout.
enum UnseenRun {
    /// Returns the largest minimum of a repetition, such as 5000 in `a{5000}`: the matcher may scan that number of
    /// characters before one is missing. `\X`, which matches any number of code points, and verbs such as script runs
    /// have no such bound.
    ///
    /// Searches the plain text, including character classes and escapes. That may overestimate the cost, but never
    /// underestimates it.
    static func longest(in text: String) -> Int {
        let bytes = Array(text.utf8)
        var longest = 0
        for (place, byte) in bytes.enumerated() {
            let next = bytes.dropFirst(place + 1)
            switch (byte, next.first) {
            case (UInt8(ascii: "{"), _): longest = max(longest, number(next))
            case (UInt8(ascii: "\\"), UInt8(ascii: "X")), (UInt8(ascii: "("), UInt8(ascii: "*")): return .max
            default: break
            }
        }
        return longest
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        let digits = bytes.drop { $0 == UInt8(ascii: " ") }.prefix { (0x30...0x39).contains($0) }
        // PCRE2 allows five digits.
        return Int(String(decoding: digits.prefix(6), as: UTF8.self)) ?? 0
    }
}
