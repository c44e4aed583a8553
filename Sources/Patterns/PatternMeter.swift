import CPCRE2

/// Counts the work of one application of a pattern. PCRE2 calls before each item of the expression (automatic callouts).
///
/// PCRE2's own match limit counts anew at each place where a match may begin, and not the characters that an item runs over, so it
/// alone bounds nothing. Here every item is paid for with the distance from the one before, and with what a failing item may have
/// run over unseen.
struct PatternMeter {
    /// What each call costs at least.
    let price: Int
    /// The most characters that an item may look at without saying so, apart from back references.
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

    /// Whether the matcher may go on.
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
            // Groups that are not set stand at the largest number on both sides.
            if end > start { longest = max(longest, end - start) }
        }
        return longest
    }
}
