/// What a byte is as a character of ASCII.
extension UInt8 {
    @inlinable public var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    @inlinable public var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    @inlinable public var isASCIILetterOrDigit: Bool { isASCIIDigit || isASCIILetter }

    @inlinable public var isASCIIHexDigit: Bool { hexDigitValue != nil }

    /// The value of a hex digit of either case.
    @inlinable public var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Whether the byte is printable ASCII and not a blank.
    @inlinable public var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }

    /// Whether the byte is one of the characters of `text`, which is ASCII.
    @inlinable public func isOne(of text: StaticString) -> Bool {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).contains(self)
    }
}
