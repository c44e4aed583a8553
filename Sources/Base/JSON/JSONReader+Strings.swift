/// The range of a string in a JSON text, between its quotation marks, and its spelling.
public struct JSONString {
    public struct Traits: OptionSet {
        public let rawValue: UInt8

        @inlinable public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        @inlinable public static var escaped: Traits { Traits(rawValue: 1) }
        /// Not spelled as in NIP-01's canonical form, for example `\/`, `\u0041`, `\u000A`.
        @inlinable public static var recoded: Traits { Traits(rawValue: 2) }
        /// Has control characters for which NIP-01 defines no escape, such as `\u0001`.
        @inlinable public static var control: Traits { Traits(rawValue: 4) }
    }

    /// Offset of the first byte after the opening quotation mark.
    public let start: Int
    /// Offset of the closing quotation mark.
    public let end: Int
    public let traits: Traits

    @inlinable init(start: Int, end: Int, traits: Traits) {
        self.start = start
        self.end = end
        self.traits = traits
    }

    @inlinable public var count: Int { end &- start }
    @inlinable public var range: Range<Int> { Range(uncheckedBounds: (start, end)) }
}

extension JSONReader {
    /// Reads a string with both its quotation marks.
    @inlinable @inline(__always)
    public mutating func string() throws(Failure) -> JSONString {
        guard next == UInt8(ascii: "\"") else { throw fault(.string) }
        let start = position &+ 1
        var at = start
        while at &+ 8 <= count {
            let marks = ByteLanes.endOfPlainText(word(at))
            if marks == 0 {
                at &+= 8
                continue
            }
            at &+= ByteLanes.first(marks)
            guard byte(at) == UInt8(ascii: "\"") else { break }
            position = at &+ 1
            return JSONString(start: start, end: at, traits: [])
        }
        return try stringRest(start: start, from: at)
    }

    /// Reads the rest of a string, from the first escape or non-ASCII character on, or within the last seven bytes.
    @inlinable @inline(never)
    mutating func stringRest(start: Int, from: Int) throws(Failure) -> JSONString {
        var traits: JSONString.Traits = []
        position = from
        while position < count {
            let character = byte(position)
            if character == UInt8(ascii: "\"") {
                position &+= 1
                return JSONString(start: start, end: position &- 1, traits: traits)
            } else if character == UInt8(ascii: "\\") {
                traits.formUnion(try escape())
            } else if character >= 0x80 {
                try charactersBeyondASCII()
            } else if character < 0x20 {
                throw fault(.escapedControl)
            } else {
                position &+= 1
            }
            skipPlainText()
        }
        throw fault(.quote)
    }

    @inlinable @inline(__always)
    mutating func skipPlainText() {
        while position &+ 8 <= count {
            let marks = ByteLanes.endOfPlainText(word(position))
            if marks != 0 {
                position &+= ByteLanes.first(marks)
                return
            }
            position &+= 8
        }
    }

    /// Checks a backslash and its escape.
    @inlinable mutating func escape() throws(Failure) -> JSONString.Traits {
        guard position &+ 1 < count else { throw fault(.escape) }
        switch byte(position &+ 1) {
        case UInt8(ascii: "n"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "r"), UInt8(ascii: "t"),
            UInt8(ascii: "b"), UInt8(ascii: "f"):
            position &+= 2
            return .escaped
        case UInt8(ascii: "/"):
            position &+= 2
            return [.escaped, .recoded]
        case UInt8(ascii: "u"):
            return try unicodeEscape()
        default:
            throw fault(.escape)
        }
    }

    @inlinable mutating func unicodeEscape() throws(Failure) -> JSONString.Traits {
        guard let unit = hexUnit(at: position &+ 2) else { throw fault(.escape) }
        switch unit {
        case 0xdc00...0xdfff:
            throw fault(.surrogatePair)
        case 0xd800...0xdbff:
            guard position &+ 12 <= count, byte(position &+ 6) == UInt8(ascii: "\\"),
                byte(position &+ 7) == UInt8(ascii: "u"), let low = hexUnit(at: position &+ 8),
                (0xdc00...0xdfff).contains(low)
            else { throw fault(.surrogatePair) }
            position &+= 12
            return [.escaped, .recoded]
        default:
            let isUppercase = (0x41...0x46).contains(byte(position &+ 5))
            position &+= 6
            switch unit {
            case 0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x20...: return [.escaped, .recoded]
            default: return isUppercase ? [.escaped, .control, .recoded] : [.escaped, .control]
            }
        }
    }

    /// Returns the value of four hexadecimal digits, of either case, at `offset`.
    @inlinable public func hexUnit(at offset: Int) -> UInt32? {
        guard offset &+ 4 <= count else { return nil }
        var unit: UInt32 = 0
        for index in offset..<offset &+ 4 {
            let digit = byte(index)
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit &<< 4 | UInt32(digit &- 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                unit = unit &<< 4 | UInt32(digit & 0x0f &+ 9)
            default: return nil
            }
        }
        return unit
    }

    /// Checks consecutive characters of two to four bytes (RFC 3629: shortest form, no surrogates, none above
    /// U+10FFFF).
    @inlinable mutating func charactersBeyondASCII() throws(Failure) {
        while position < count, byte(position) >= 0x80 {
            let length = characterLength()
            guard length > 0 else { throw fault(.utf8) }
            position &+= length
        }
    }

    /// Returns the length in bytes of the character at ``position``; 0 if it is not well-formed. `sequence` has the
    /// bytes in order, the first one lowest.
    @inlinable @inline(__always)
    func characterLength() -> Int {
        var sequence: UInt32 = 0
        if position &+ 4 <= count {
            sequence = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt32.self))
        } else {
            for index in position..<count { sequence |= UInt32(byte(index)) &<< UInt32(8 &* (index &- position)) }
        }
        if sequence & 0xc0_c0f0 == 0x80_80e0 {
            let top = sequence & 0x200f
            return top != 0 && top != 0x200d ? 3 : 0
        }
        if sequence & 0xc0e0 == 0x80c0 {
            return sequence & 0x1e != 0 ? 2 : 0
        }
        if sequence & 0xc0c0_c0f8 == 0x8080_80f0 {
            let top = sequence & 0x3007
            return top != 0 && (top & 0x04 == 0 || top == 0x04) ? 4 : 0
        }
        return 0
    }
}

extension JSONReader {
    /// Appends the value of a string to `text`, with its own escapes replaced by those of `spelling`.
    ///
    /// `string` must come from this reader, which has checked its escapes.
    @inlinable public func decode(_ string: JSONString, as spelling: JSONSpelling, into text: inout [UInt8]) {
        guard string.traits.contains(.escaped) else { return copy(string.range, into: &text) }
        var at = string.start
        var run = at
        while at < string.end {
            guard byte(at) == UInt8(ascii: "\\") else {
                at &+= 1
                continue
            }
            copy(run..<at, into: &text)
            spelling.append(decodeEscape(&at), to: &text)
            run = at
        }
        copy(run..<string.end, into: &text)
    }

    /// Returns the value of a string.
    @inlinable public func text(_ string: JSONString) -> String {
        guard string.traits.contains(.escaped) else {
            return String(
                decoding: UnsafeRawBufferPointer(start: base + string.start, count: string.count),
                as: UTF8.self
            )
        }
        return String(decoding: bytes(string), as: UTF8.self)
    }

    /// Returns the value of a string in UTF-8.
    @inlinable public func bytes(_ string: JSONString) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(string.count)
        decode(string, as: .plain, into: &bytes)
        return bytes
    }

    /// Whether a string equals `text`, with or without escapes.
    @inlinable public func says(_ string: JSONString, _ text: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        if string.traits.contains(.escaped) { return bytes(string).elementsEqual(expected) }
        guard string.count == expected.count else { return false }
        for index in 0..<expected.count where byte(string.start &+ index) != expected[index] { return false }
        return true
    }

    @inlinable public func copy(_ range: Range<Int>, into text: inout [UInt8]) {
        text.append(contentsOf: UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// Reads the escape at `at`, which ``string()`` has checked, and advances past it.
    @inlinable func decodeEscape(_ at: inout Int) -> Unicode.Scalar {
        let letter = byte(at &+ 1)
        guard letter == UInt8(ascii: "u") else {
            at &+= 2
            switch letter {
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "b"): return "\u{08}"
            case UInt8(ascii: "f"): return "\u{0c}"
            default: return Unicode.Scalar(letter)
            }
        }
        let unit = hexUnit(at: at &+ 2) ?? 0
        at &+= 6
        guard unit & 0xfc00 == 0xd800 else { return Unicode.Scalar(unit) ?? "\u{fffd}" }
        let low = hexUnit(at: at &+ 2) ?? 0
        at &+= 6
        return Unicode.Scalar(0x10000 &+ ((unit & 0x3ff) &<< 10 | low & 0x3ff)) ?? "\u{fffd}"
    }
}

/// Functions that examine eight bytes as one word. Swift's SIMD types compile to code that is thirty times slower.
@usableFromInline
enum ByteLanes {
    @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// Sets the top bit of the first byte that is not plain text of a string: a quotation mark, a backslash, a control
    /// character or a part of a character beyond ASCII. Later marks may be wrong, because the subtractions borrow
    /// upwards.
    @inlinable @inline(__always)
    static func endOfPlainText(_ word: UInt64) -> UInt64 {
        // With that bit flipped, the quotation mark is just above the control characters.
        let controlsAndQuotes = (word ^ 0x0202_0202_0202_0202) &- 0x2121_2121_2121_2121
        let backslashes = (word ^ 0x5c5c_5c5c_5c5c_5c5c) &- ones
        return (controlsAndQuotes | backslashes | word) & highBits
    }

    /// Returns the index of the first byte marked by ``endOfPlainText(_:)``.
    @inlinable @inline(__always)
    static func first(_ marks: UInt64) -> Int {
        marks.trailingZeroBitCount &>> 3
    }
}
