/// ASCII classification of a byte.
extension UInt8 {
    @inlinable public var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    @inlinable public var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    @inlinable public var isASCIILetterOrDigit: Bool { isASCIIDigit || isASCIILetter }

    /// The lowercase letter for an uppercase ASCII letter, else the byte itself.
    @inlinable public var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

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

    /// Whether the byte is printable ASCII and not a space.
    @inlinable public var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }

    /// Whether the byte is one of the characters of `text`, which must be ASCII.
    @inlinable public func isOne(of text: StaticString) -> Bool {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount).contains(self)
    }
}

/// Percent encoding of URLs (RFC 3986, section 2.1).
public enum PercentEncoding {
    /// Encodes all characters except those that RFC 3986 calls unreserved.
    public static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            if byte.isASCIILetterOrDigit || byte.isOne(of: "-._~") {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// Returns the decoded bytes; nil if a `%` is not followed by two hex digits.
    public static func decode(_ encoded: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var bytes = encoded.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next()?.hexDigitValue, let low = bytes.next()?.hexDigitValue else { return nil }
                decoded.append(high << 4 | low)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// Whether RFC 3986 allows these bytes in a path and a query, with `%` only before two hex digits.
    @inlinable
    public static func isTarget(_ bytes: some Sequence<UInt8>) -> Bool {
        var digitsAwaited = 0
        for byte in bytes {
            if digitsAwaited > 0 {
                guard byte.isASCIIHexDigit else { return false }
                digitsAwaited -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsAwaited = 2
            } else if !byte.isVisibleASCII || byte.isOne(of: "\"#<>[\\]^`{|}") {
                return false
            }
        }
        return digitsAwaited == 0
    }
}

/// The 64 characters of an encoding of RFC 4648, with encoding and decoding.
package struct Base64Alphabet: Sendable {
    /// Whether encoded text must end in `=`.
    package enum Padding {
        case required
        case optional
    }

    /// The alphabet of RFC 4648 section 4.
    package static let standard = Base64Alphabet(last: "+/")
    /// The alphabet of section 5, which is safe in URLs and file names.
    package static let urlSafe = Base64Alphabet(last: "-_")

    private static let invalid: UInt8 = 0xff
    private static let pad = UInt8(ascii: "=")

    private let characters: [UInt8]
    private let values: [UInt8]

    /// Makes the alphabet of letters and digits, and the two characters in `last`.
    private init(last: StaticString) {
        let common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        let characters = Array(common.utf8) + UnsafeBufferPointer(start: last.utf8Start, count: last.utf8CodeUnitCount)
        var values = [UInt8](repeating: Base64Alphabet.invalid, count: 256)
        for (value, character) in characters.enumerated() {
            values[Int(character)] = UInt8(truncatingIfNeeded: value)
        }
        self.characters = characters
        self.values = values
    }

    /// Returns the encoded `bytes`, with `=` at the end if padded.
    package func encode(_ bytes: [UInt8], padded: Bool) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { output in
            var length = 0
            func put(_ character: UInt8) {
                output[length] = character
                length += 1
            }
            var index = 0
            while index < bytes.count {
                let present = min(3, bytes.count - index)
                var group = UInt32(bytes[index]) << 16
                group |= present > 1 ? UInt32(bytes[index + 1]) << 8 : 0
                group |= present > 2 ? UInt32(bytes[index + 2]) : 0
                for position in 0...present {
                    put(self.characters[Int(group >> (18 - 6 * UInt32(position))) & 0x3f])
                }
                index += 3
            }
            while padded && length % 4 != 0 {
                put(Base64Alphabet.pad)
            }
            return length
        }
    }

    /// Returns the bytes for which ``encode(_:padded:)`` returns `text`; nil if there are none.
    package func decode(_ text: String, padding: Padding) -> [UInt8]? {
        var text = text
        return text.withUTF8 { self.decode($0, padding: padding) }
    }

    private func decode(_ text: UnsafeBufferPointer<UInt8>, padding: Padding) -> [UInt8]? {
        var count = text.count
        while count > 0 && text.count - count < 2 && text[count - 1] == Base64Alphabet.pad {
            count -= 1
        }
        let isPadded = text.count % 4 == 0
        let isBare = count == text.count && padding == .optional
        // A single character is too short for a byte.
        guard isPadded || isBare, count % 4 != 1, isBare || count + (4 - count % 4) % 4 == text.count else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for character in text[..<count] {
            let value = self.values[Int(character)]
            guard value != Base64Alphabet.invalid else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        // Unused bits must be zero. Otherwise two strings would decode to the same bytes.
        return group & (1 << bits - 1) == 0 ? bytes : nil
    }
}
