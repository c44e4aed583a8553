/// Eight bytes looked at as one word. Swift's SIMD types compile to code thirty times slower than this.
enum ByteLanes {
    static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Marks, in its top bit, the first byte that does not simply belong to a string: a quotation mark, a backslash,
    /// a control character or a part of a character beyond ASCII. Marks after the first may be wrong, because the
    /// subtractions borrow upwards.
    @inline(__always)
    static func endOfPlainText(_ word: UInt64) -> UInt64 {
        let controls = word &- 0x2020_2020_2020_2020
        let quotes = (word ^ 0x2222_2222_2222_2222) &- ones
        let backslashes = (word ^ 0x5c5c_5c5c_5c5c_5c5c) &- ones
        return (controls | quotes | backslashes | word) & highBits
    }

    /// Index of the first byte marked by ``endOfPlainText(_:)``.
    @inline(__always)
    static func first(_ marks: UInt64) -> Int {
        marks.trailingZeroBitCount &>> 3
    }
}
