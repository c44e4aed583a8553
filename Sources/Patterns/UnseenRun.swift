/// How far one item of an expression may run over a value and then fail, of which no callout tells.
enum UnseenRun {
    /// The largest number that a repetition asks for at least, as in `a{5000}`: so many characters may be looked at before one
    /// is missing. `\X`, which takes any number of code points, and verbs, script runs among them, have no such bound.
    ///
    /// Looks at the bare text: what is written in a character class or behind a backslash is taken for the real thing, which
    /// makes an expression dearer than it is and never cheaper.
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
        // PCRE2 allows five.
        return Int(String(decoding: digits.prefix(6), as: UTF8.self)) ?? 0
    }
}
