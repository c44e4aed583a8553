/// A public key or an event's id: 32 bytes.
struct Key32: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil for anything but 64 hex digits.
    init?(_ hex: String) {
        guard hex.utf8.count == 64 else { return nil }
        var words: [UInt64] = []
        var rest = hex.utf8[...]
        while !rest.isEmpty {
            var word: UInt64 = 0
            for digit in rest.prefix(16) {
                guard let value = Self.value(digit) else { return nil }
                word = word << 4 | value
            }
            words.append(word)
            rest = rest.dropFirst(16)
        }
        self.words = (words[0], words[1], words[2], words[3])
    }

    private static func value(_ digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(digit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    static func == (one: Key32, other: Key32) -> Bool { one.words == other.words }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
