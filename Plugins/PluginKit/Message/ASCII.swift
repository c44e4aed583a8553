extension UInt8 {
    @inlinable package var isASCIILetterOrDigit: Bool {
        isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    @inlinable package var isASCIIHexDigit: Bool {
        isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
    }

    /// Whether the byte is printable ASCII and not a blank.
    @inlinable package var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }

    /// Whether the byte is one of the characters of `text`, which is ASCII.
    @inlinable package func isOne(of text: StaticString) -> Bool {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).contains(self)
    }

    @inlinable package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
