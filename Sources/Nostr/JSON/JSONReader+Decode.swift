extension JSONReader {
    /// Appends what a string says to `text`, its own escapes undone and those of `spelling` put in their place.
    ///
    /// `string` must come from this reader: its escapes have been checked.
    func decode(_ string: JSONString, as spelling: JSONSpelling, into text: inout [UInt8]) {
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

    /// What a string says.
    func text(_ string: JSONString) -> String {
        guard string.traits.contains(.escaped) else {
            return String(
                decoding: UnsafeRawBufferPointer(start: base + string.start, count: string.count),
                as: UTF8.self
            )
        }
        return String(decoding: bytes(string), as: UTF8.self)
    }

    /// What a string says, in UTF-8.
    func bytes(_ string: JSONString) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(string.count)
        decode(string, as: .plain, into: &bytes)
        return bytes
    }

    /// Whether a string says `text`, however it is written.
    func says(_ string: JSONString, _ text: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        if string.traits.contains(.escaped) { return bytes(string).elementsEqual(expected) }
        guard string.count == expected.count else { return false }
        for index in 0..<expected.count where byte(string.start &+ index) != expected[index] { return false }
        return true
    }

    func copy(_ range: Range<Int>, into text: inout [UInt8]) {
        text.append(contentsOf: UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// Reads the escape at `at`, of which ``string()`` has approved, and goes past it.
    private func decodeEscape(_ at: inout Int) -> Unicode.Scalar {
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
