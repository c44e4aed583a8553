/// Walks over a JSON text (RFC 8259) in memory and checks all that it passes: grammar, UTF-8, escapes.
///
/// Borrows the text, allocates nothing and never reads outside of it.
struct JSONReader<Failure: JSONFailure> {
    let base: UnsafeRawPointer
    /// Length of the text in bytes.
    let count: Int
    /// Offset of the next byte.
    var position: Int

    /// Starts at `position`, which may be anywhere in the text.
    init(_ text: UnsafeRawBufferPointer, at position: Int = 0) throws(Failure) {
        guard let base = text.baseAddress, position >= 0, position < text.count else {
            throw Failure(JSONFault(expectation: .value, offset: text.count))
        }
        self.base = base
        self.count = text.count
        self.position = position
    }

    @inline(__always)
    func byte(_ offset: Int) -> UInt8 {
        base.load(fromByteOffset: offset, as: UInt8.self)
    }

    @inline(__always)
    func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The next byte; 0, which is nowhere allowed in JSON, at the end of the text.
    @inline(__always)
    var next: UInt8 {
        position < count ? byte(position) : 0
    }

    func fault(_ expectation: JSONFault.Expectation) -> Failure {
        Failure(JSONFault(expectation: expectation, offset: position))
    }

    /// Returns whether there was any.
    @inline(__always)
    @discardableResult
    mutating func skipWhitespace() -> Bool {
        guard position < count, byte(position) <= 0x20 else { return false }
        return skipWhitespaceRun()
    }

    @inline(never)
    private mutating func skipWhitespaceRun() -> Bool {
        let start = position
        while position < count {
            switch byte(position) {
            case 0x20, 0x0a, 0x0d, 0x09: position &+= 1
            default: return position > start
            }
        }
        return position > start
    }

    /// Goes past `character` if it is next.
    @inline(__always)
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < count, UInt32(byte(position)) == character.value else { return false }
        position &+= 1
        return true
    }

    @inline(__always)
    mutating func expect(_ character: Unicode.Scalar, _ expectation: JSONFault.Expectation) throws(Failure) {
        guard take(character) else { throw fault(expectation) }
    }

    /// Reads a key, the colon after it and the whitespace around both.
    @inline(__always)
    mutating func key() throws(Failure) -> JSONString {
        skipWhitespace()
        let key = try string()
        skipWhitespace()
        try expect(":", .colon)
        skipWhitespace()
        return key
    }

    /// Only whitespace may be left.
    mutating func end() throws(Failure) {
        skipWhitespace()
        guard position == count else { throw fault(.endOfText) }
    }
}
