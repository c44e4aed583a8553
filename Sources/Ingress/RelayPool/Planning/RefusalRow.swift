/// Tells a relay that takes no more from one that is asked too fast: it refuses one REQ after the other, however long we wait
/// before each, and accepts none in between.
struct RefusalRow: Hashable, Sendable {
    private static let length = 3

    private var count = 0
    /// The number of the REQ that was refused first.
    private var first: UInt64 = 0
    /// Only REQs from that number on were sent knowing of the last refusal.
    private var next: UInt64 = 0

    /// Notes that the REQ of that number was refused, while `last` was the last that was sent. Returns whether that makes a row.
    mutating func refused(_ number: UInt64, last: UInt64) -> Bool {
        guard number >= next else { return false }
        if count == 0 { first = number }
        count += 1
        next = last + 1
        return count >= Self.length
    }

    mutating func accepted(_ number: UInt64) {
        if number > first { self = RefusalRow() }
    }
}
