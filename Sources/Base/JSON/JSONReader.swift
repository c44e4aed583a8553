/// A reader of JSON text (RFC 8259) in memory. It checks everything that it reads: grammar, UTF-8, escapes.
///
/// Borrows the text, does not allocate and never reads outside of it. Public and inlinable as a whole, because the
/// compiler specializes only such code in other modules.
public struct JSONReader<Failure: JSONSyntaxErrorConvertible> {
    public let base: UnsafeRawPointer
    /// The length of the text in bytes.
    public let count: Int
    /// The offset of the next byte.
    public var position: Int

    /// Starts at `position`, which may be anywhere in the text.
    @inlinable public init(_ text: UnsafeRawBufferPointer, at position: Int = 0) throws(Failure) {
        guard let base = text.baseAddress, position >= 0, position < text.count else {
            throw Failure(JSONSyntaxError(expectation: .value, offset: text.count))
        }
        self.base = base
        self.count = text.count
        self.position = position
    }

    @inlinable @inline(__always)
    public func byte(_ offset: Int) -> UInt8 {
        base.load(fromByteOffset: offset, as: UInt8.self)
    }

    @inlinable @inline(__always)
    public func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The next byte; 0 at the end of the text, which JSON does not allow anywhere.
    @inlinable @inline(__always)
    public var next: UInt8 {
        position < count ? byte(position) : 0
    }

    @inlinable public func fault(_ expectation: JSONSyntaxError.Expectation) -> Failure {
        Failure(JSONSyntaxError(expectation: expectation, offset: position))
    }

    /// Skips whitespace. Returns whether there was any.
    @inline(__always)
    @discardableResult
    @inlinable public mutating func skipWhitespace() -> Bool {
        guard position < count, byte(position) <= 0x20 else { return false }
        return skipWhitespaceRun()
    }

    @inlinable @inline(never)
    mutating func skipWhitespaceRun() -> Bool {
        let start = position
        while position < count {
            switch byte(position) {
            case 0x20, 0x0a, 0x0d, 0x09: position &+= 1
            default: return position > start
            }
        }
        return position > start
    }

    /// Skips `character` if it is next.
    @inlinable @inline(__always)
    public mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < count, UInt32(byte(position)) == character.value else { return false }
        position &+= 1
        return true
    }

    @inlinable @inline(__always)
    public mutating func expect(_ character: Unicode.Scalar, _ expectation: JSONSyntaxError.Expectation) throws(Failure)
    {
        guard take(character) else { throw fault(expectation) }
    }

    /// Reads a key, the colon after it and the whitespace around both.
    @inlinable @inline(__always)
    public mutating func key() throws(Failure) -> JSONString {
        skipWhitespace()
        let key = try string()
        skipWhitespace()
        try expect(":", .colon)
        skipWhitespace()
        return key
    }

    /// Throws unless only whitespace is left.
    @inlinable public mutating func end() throws(Failure) {
        skipWhitespace()
        guard position == count else { throw fault(.endOfText) }
    }
}

extension JSONReader {
    /// Skips one value of any kind, nested up to 64 levels deep.
    @inlinable @inline(never)
    public mutating func skipValue() throws(Failure) {
        /// One bit for each level, the innermost lowest: 1 for an object.
        var levels: UInt64 = 0
        var depth = 0
        while true {
            skipWhitespace()
            let opener = next
            if opener == UInt8(ascii: "{") || opener == UInt8(ascii: "[") {
                guard depth < 64 else { throw fault(.noDeeperNesting) }
                position &+= 1
                depth &+= 1
                let isObject = opener == UInt8(ascii: "{")
                levels = levels &<< 1 | (isObject ? 1 : 0)
                skipWhitespace()
                if next != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { _ = try key() }
                    continue
                }
            } else {
                try skipScalar()
            }
            if try !nextMember(&levels, &depth) { return }
        }
    }

    /// After a value, closes ended containers, or moves to the next member's value. Returns whether there is one.
    @inlinable mutating func nextMember(_ levels: inout UInt64, _ depth: inout Int) throws(Failure) -> Bool {
        while depth > 0 {
            let isObject = levels & 1 == 1
            skipWhitespace()
            if take(isObject ? "}" : "]") {
                levels &>>= 1
                depth &-= 1
            } else if take(",") {
                if isObject { _ = try key() }
                return true
            } else {
                throw fault(isObject ? .objectEnd : .arrayEnd)
            }
        }
        return false
    }

    @inlinable mutating func skipScalar() throws(Failure) {
        switch next {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: throw fault(.value)
        }
    }

    @inlinable public mutating func literal(_ word: StaticString) throws(Failure) {
        guard position &+ word.utf8CodeUnitCount <= count else { throw fault(.literal) }
        for index in 0..<word.utf8CodeUnitCount where byte(position &+ index) != word.utf8Start[index] {
            throw fault(.literal)
        }
        position &+= word.utf8CodeUnitCount
    }

    @inlinable mutating func skipNumber() throws(Failure) {
        _ = take("-")
        if !take("0") { try skipDigits() }
        if take(".") { try skipDigits() }
        if take("e") || take("E") {
            if !take("-") { _ = take("+") }
            try skipDigits()
        }
    }

    @inlinable mutating func skipDigits() throws(Failure) {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) else { throw fault(.number) }
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { position &+= 1 }
    }

    /// Reads a number of digits only, from 0 to 2^63 - 1. Returns `nil` for any other value: a sign, a fraction, an
    /// exponent, a leading zero, another type.
    @inlinable @inline(__always)
    public mutating func natural() -> Int64? {
        let start = position
        var value: UInt64 = 0
        while position < count {
            let digit = byte(position) &- 0x30
            guard digit <= 9 else { break }
            // Eighteen digits always fit; nineteen are checked, twenty never fit.
            guard position &- start < 19 else { return nil }
            value = value &* 10 &+ UInt64(digit)
            position &+= 1
        }
        guard position > start, value <= UInt64(Int64.max) else { return nil }
        if byte(start) == 0x30, position &- start > 1 { return nil }
        let follower = next
        if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") { return nil }
        return Int64(truncatingIfNeeded: value)
    }
}

/// A syntax error in a JSON text (RFC 8259), with its offset and the expected syntax.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Expectation: String, Hashable, Sendable {
        case array = "an array"
        case arrayEnd = "a comma or ]"
        case colon = "a colon"
        case distinctNames = "every field of an object only once"
        case endOfText = "the end of the text"
        case escape = "one of the escapes of JSON after a backslash"
        case escapedControl = "control characters in strings to be escaped"
        case literal = "true, false or null"
        case noDeeperNesting = "no more than 64 levels of nesting"
        case number = "a digit"
        case object = "an object"
        case objectEnd = "a comma or }"
        case quote = "a quotation mark that ends the string"
        case string = "a string"
        case surrogatePair = "a surrogate to be one of a pair"
        case utf8 = "valid UTF-8"
        case value = "a value"
    }

    public let expectation: Expectation
    /// In bytes from the start of the text.
    public let offset: Int

    public init(expectation: Expectation, offset: Int) {
        self.expectation = expectation
        self.offset = offset
    }

    public var description: String {
        "expected \(expectation.rawValue) at byte \(offset)"
    }
}

/// An error that can be made from a ``JSONSyntaxError``, so that readers of events and of messages throw their own
/// errors.
public protocol JSONSyntaxErrorConvertible: Error {
    init(_ fault: JSONSyntaxError)
}

extension JSONSyntaxError: JSONSyntaxErrorConvertible {
    public init(_ fault: JSONSyntaxError) {
        self = fault
    }
}
