extension JSONReader {
    /// Reads a string with both its quotation marks.
    @inline(__always)
    mutating func string() throws(Failure) -> JSONString {
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

    /// Goes on where plain ASCII ends, or where fewer than eight bytes are left.
    @inline(never)
    private mutating func stringRest(start: Int, from: Int) throws(Failure) -> JSONString {
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

    @inline(__always)
    private mutating func skipPlainText() {
        while position &+ 8 <= count {
            let marks = ByteLanes.endOfPlainText(word(position))
            if marks != 0 {
                position &+= ByteLanes.first(marks)
                return
            }
            position &+= 8
        }
    }

    /// Checks a backslash and what it escapes.
    private mutating func escape() throws(Failure) -> JSONString.Traits {
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

    private mutating func unicodeEscape() throws(Failure) -> JSONString.Traits {
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

    /// The four hexadecimal digits, of either case, at `offset`.
    func hexUnit(at offset: Int) -> UInt32? {
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

    /// Checks a run of characters of two to four bytes (RFC 3629: shortest form, no surrogates, none above U+10FFFF).
    private mutating func charactersBeyondASCII() throws(Failure) {
        while position < count, byte(position) >= 0x80 {
            let length = characterLength()
            guard length > 0 else { throw fault(.utf8) }
            position &+= length
        }
    }

    /// The bytes of the character at ``position``; 0 if it is not well-formed. Bytes stand in `sequence` in their
    /// order, the first lowest.
    @inline(__always)
    private func characterLength() -> Int {
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
