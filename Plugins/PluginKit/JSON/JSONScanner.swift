/// Walks over JSON (RFC 8259) without building anything, and accepts nothing else. The bytes are UTF-8 already.
struct JSONScanner {
    /// Deeper nesting is refused: it would cost stack.
    static let depthLimit = 64

    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int

    init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The byte at the position, or 0 at the end: JSON has no use for a NUL.
    private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func skipBlanks() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r")
            || next == UInt8(ascii: "\t")
        {
            position += 1
        }
    }

    /// Steps over `byte` if it is next.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func require(_ byte: UInt8, _ expected: String) throws(JSONError) {
        guard skip(byte) else { throw failure(expected) }
    }

    mutating func requireEnd() throws(JSONError) {
        skipBlanks()
        guard position == bytes.count else { throw failure("nothing more") }
    }

    func failure(_ expected: String) -> JSONError {
        JSONError(expected: expected, position: position)
    }

    /// Steps over one value, blanks before it included, and returns where it lies.
    mutating func value(depth: Int) throws(JSONError) -> Range<Int> {
        guard depth <= JSONScanner.depthLimit else {
            throw failure("at most \(JSONScanner.depthLimit) levels of nesting")
        }
        skipBlanks()
        let start = position
        switch next {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"): try object(depth: depth)
        case UInt8(ascii: "["): try array(depth: depth)
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
        return start..<position
    }

    /// Steps over a string; returns whether it holds escapes.
    mutating func string() throws(JSONError) -> Bool {
        try require(UInt8(ascii: "\""), "a string")
        var hasEscapes = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return hasEscapes
            }
            guard byte >= 0x20 else { throw failure("an escape instead of a control character") }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try escape()
            } else {
                position += 1
            }
        }
        throw failure("the end of a string")
    }

    private mutating func escape() throws(JSONError) {
        position += 1
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            let first = try unit()
            guard (0xD800...0xDFFF).contains(first) else { return }
            guard first < 0xDC00, skip(UInt8(ascii: "\\")), next == UInt8(ascii: "u"),
                (0xDC00...0xDFFF).contains(try unit())
            else { throw failure("a pair of surrogates") }
        default: throw failure("an escape: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u")
        }
    }

    private mutating func unit() throws(JSONError) -> UInt32 {
        position += 1
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next.hexDigitValue else { throw failure("four hex digits") }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) {
        position += 1
        skipBlanks()
        if skip(UInt8(ascii: "}")) { return }
        repeat {
            skipBlanks()
            _ = try string()
            skipBlanks()
            try require(UInt8(ascii: ":"), "a colon")
            _ = try value(depth: depth + 1)
            skipBlanks()
        } while skip(UInt8(ascii: ","))
        try require(UInt8(ascii: "}"), "a comma or the end of an object")
    }

    private mutating func array(depth: Int) throws(JSONError) {
        position += 1
        skipBlanks()
        if skip(UInt8(ascii: "]")) { return }
        repeat {
            _ = try value(depth: depth + 1)
            skipBlanks()
        } while skip(UInt8(ascii: ","))
        try require(UInt8(ascii: "]"), "a comma or the end of an array")
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        let letters = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[position...].starts(with: letters) else { throw failure("true, false or null") }
        position += letters.count
    }

    private mutating func number() throws(JSONError) {
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) {
            try digits("a value")
        }
        if skip(UInt8(ascii: ".")) {
            try digits("a digit")
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-"))
            try digits("a digit")
        }
    }

    private mutating func digits(_ expected: String) throws(JSONError) {
        let start = position
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) {
            position += 1
        }
        guard position > start else { throw failure(expected) }
    }
}
