import Core

/// Hexadecimal digits, two for each byte.
public enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns the lowercase digits of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable { self.encode(contiguous: $0) }
            ?? Array(bytes).withUnsafeBufferPointer { self.encode(contiguous: $0) }
    }

    /// Returns the bytes of lowercase digits, as NIP-01 requires; `nil` for any other text.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        self.decode(text, uppercase: false)
    }

    /// Returns the bytes of digits of either case; `nil` for any other text.
    package static func decode(anyCase text: some StringProtocol) -> [UInt8]? {
        self.decode(text, uppercase: true)
    }

    private static func encode(contiguous bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[index * 2] = self.digits[Int(byte >> 4)]
                text[index * 2 + 1] = self.digits[Int(byte & 0x0f)]
            }
            return bytes.count * 2
        }
    }

    private static func decode(_ text: some StringProtocol, uppercase: Bool) -> [UInt8]? {
        // Read in place if possible: through the protocol, each character would be a call.
        let bytes = text.utf8.withContiguousStorageIfAvailable { self.decode(contiguous: $0, uppercase: uppercase) }
        return bytes ?? Array(text.utf8).withUnsafeBufferPointer { self.decode(contiguous: $0, uppercase: uppercase) }
    }

    private static func decode(contiguous text: UnsafeBufferPointer<UInt8>, uppercase: Bool) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard
                let high = self.value(of: text[index], uppercase: uppercase),
                let low = self.value(of: text[index + 1], uppercase: uppercase)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(of character: UInt8, uppercase: Bool) -> UInt8? {
        uppercase || !(0x41...0x46).contains(character) ? character.hexDigitValue : nil
    }
}

/// Conversions of eight lowercase digits at a time, for ids, keys and signatures (NIP-01), which are frequent.
///
/// Public, because the compiler inlines only public code into other modules.
extension Hex {
    /// Reads 64 lowercase digits into 32 bytes; `nil` if one is not in `0123456789abcdef`. All 64 must be readable.
    @inlinable @inline(__always)
    public static func words(_ digits: UnsafeRawPointer) -> (UInt64, UInt64, UInt64, UInt64)? {
        var faults: UInt64 = 0
        let words = (
            decodeSixteen(digits, &faults), decodeSixteen(digits + 16, &faults),
            decodeSixteen(digits + 32, &faults), decodeSixteen(digits + 48, &faults)
        )
        return faults & highBits == 0 ? words : nil
    }

    /// Whether `count` bytes, a multiple of eight, are lowercase digits. All of them must be readable.
    @inlinable @inline(__always)
    public static func areDigits(_ digits: UnsafeRawPointer, count: Int) -> Bool {
        var faults: UInt64 = 0
        var offset = 0
        while offset < count {
            faults |= Self.faults(in: digits.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        return faults & highBits == 0
    }

    /// Appends the 64 lowercase digits of 32 bytes.
    @inlinable public static func append(_ words: (UInt64, UInt64, UInt64, UInt64), to text: inout [UInt8]) {
        append(words.0, to: &text)
        append(words.1, to: &text)
        append(words.2, to: &text)
        append(words.3, to: &text)
    }

    @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    @inlinable @inline(__always)
    static func append(_ word: UInt64, to text: inout [UInt8]) {
        let bytes = UInt64(littleEndian: word)
        var digits = (encodeEight(bytes & 0xffff_ffff).littleEndian, encodeEight(bytes &>> 32).littleEndian)
        withUnsafeBytes(of: &digits) { text.append(contentsOf: $0) }
    }

    @inlinable @inline(__always)
    static func decodeSixteen(_ digits: UnsafeRawPointer, _ faults: inout UInt64) -> UInt64 {
        let low = decodeEight(UInt64(littleEndian: digits.loadUnaligned(as: UInt64.self)), &faults)
        let high = decodeEight(UInt64(littleEndian: digits.loadUnaligned(fromByteOffset: 8, as: UInt64.self)), &faults)
        return (low | high &<< 32).littleEndian
    }

    /// Sets the top bit of each byte that is not a lowercase digit. Other bits are undefined. A sum carries into the
    /// next byte only from a byte that is itself marked.
    @inlinable @inline(__always)
    static func faults(in digits: UInt64) -> UInt64 {
        let isAboveF = digits &+ 0x1919_1919_1919_1919
        let isFromZeroOn = digits &+ 0x5050_5050_5050_5050
        let isAboveNine = digits &+ 0x4646_4646_4646_4646
        let isFromAOn = digits &+ 0x1f1f_1f1f_1f1f_1f1f
        return digits | isAboveF | ~isFromZeroOn | (isAboveNine & ~isFromAOn)
    }

    /// Decodes eight digits to four bytes. If all are digits, `faults` has no top bit of a byte set.
    @inlinable @inline(__always)
    static func decodeEight(_ digits: UInt64, _ faults: inout UInt64) -> UInt64 {
        faults |= Self.faults(in: digits)
        let nibbles = (digits & 0x0f0f_0f0f_0f0f_0f0f) &+ ((digits &>> 6) & ones) &* 9
        var bytes = ((nibbles &<< 4) | (nibbles &>> 8)) & 0x00ff_00ff_00ff_00ff
        bytes = (bytes | (bytes &>> 8)) & 0x0000_ffff_0000_ffff
        return (bytes | (bytes &>> 16)) & 0xffff_ffff
    }

    /// Encodes four bytes as eight digits.
    @inlinable @inline(__always)
    static func encodeEight(_ bytes: UInt64) -> UInt64 {
        var spread = (bytes | (bytes &<< 16)) & 0x0000_ffff_0000_ffff
        spread = (spread | (spread &<< 8)) & 0x00ff_00ff_00ff_00ff
        let nibbles = ((spread &>> 4) | (spread &<< 8)) & 0x0f0f_0f0f_0f0f_0f0f
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) &>> 4) & ones
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}

/// Base 64 with the standard alphabet and padding (RFC 4648 section 4).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.standard.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is exactly the output of ``encode(_:)`` for some bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.standard.decode(text, padding: .required)
    }
}

/// Base 64 with the alphabet for URLs and file names (RFC 4648 section 5), encoded without padding.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.urlSafe.encode(bytes, padded: false)
    }

    /// Encodes with padding, like Ruby's `Base64.urlsafe_encode64` and others.
    package static func encodePadded(_ bytes: [UInt8]) -> String {
        Base64Alphabet.urlSafe.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is the output of ``encode(_:)`` for some bytes, with or without padding.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.urlSafe.decode(text, padding: .optional)
    }
}
