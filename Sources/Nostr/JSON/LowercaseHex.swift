/// Lowercase hexadecimal, eight digits at a time. NIP-01 allows no other spelling of ids, keys and signatures.
enum LowercaseHex {
    /// Reads 64 digits; `nil` if one is not of `0123456789abcdef`. The caller vouches that all 64 are readable.
    @inline(__always)
    static func decode(_ digits: UnsafeRawPointer) -> Bytes32? {
        var faults: UInt64 = 0
        let first = decodeSixteen(digits, &faults)
        let second = decodeSixteen(digits + 16, &faults)
        let third = decodeSixteen(digits + 32, &faults)
        let fourth = decodeSixteen(digits + 48, &faults)
        return faults == 0 ? Bytes32(words: (first, second, third, fourth)) : nil
    }

    static func append(_ bytes: Bytes32, to text: inout [UInt8]) {
        append(bytes.words.0, to: &text)
        append(bytes.words.1, to: &text)
        append(bytes.words.2, to: &text)
        append(bytes.words.3, to: &text)
    }

    @inline(__always)
    private static func append(_ word: UInt64, to text: inout [UInt8]) {
        let bytes = UInt64(littleEndian: word)
        var digits = (encodeEight(bytes & 0xffff_ffff).littleEndian, encodeEight(bytes &>> 32).littleEndian)
        withUnsafeBytes(of: &digits) { text.append(contentsOf: $0) }
    }

    @inline(__always)
    private static func decodeSixteen(_ digits: UnsafeRawPointer, _ faults: inout UInt64) -> UInt64 {
        let low = decodeEight(UInt64(littleEndian: digits.loadUnaligned(as: UInt64.self)), &faults)
        let high = decodeEight(
            UInt64(littleEndian: digits.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            &faults
        )
        return (low | high &<< 32).littleEndian
    }

    /// Eight digits to four bytes. `faults` is left as it was if all are digits.
    @inline(__always)
    private static func decodeEight(_ digits: UInt64, _ faults: inout UInt64) -> UInt64 {
        let letters = (digits &>> 6) & ByteLanes.ones
        let nibbles = (digits & 0x0f0f_0f0f_0f0f_0f0f) &+ letters &* 9
        let wrongColumn = (digits & 0xf0f0_f0f0_f0f0_f0f0) ^ (0x3030_3030_3030_3030 &+ letters &* 0x30)
        let aboveNine = ((nibbles &+ 0x0606_0606_0606_0606) &>> 4) & ByteLanes.ones
        faults |= wrongColumn | (aboveNine ^ letters) | (nibbles & 0x1010_1010_1010_1010)
        var bytes = ((nibbles &<< 4) | (nibbles &>> 8)) & 0x00ff_00ff_00ff_00ff
        bytes = (bytes | (bytes &>> 8)) & 0x0000_ffff_0000_ffff
        return (bytes | (bytes &>> 16)) & 0xffff_ffff
    }

    /// Four bytes to eight digits.
    @inline(__always)
    private static func encodeEight(_ bytes: UInt64) -> UInt64 {
        var spread = (bytes | (bytes &<< 16)) & 0x0000_ffff_0000_ffff
        spread = (spread | (spread &<< 8)) & 0x00ff_00ff_00ff_00ff
        let nibbles = ((spread &>> 4) | (spread &<< 8)) & 0x0f0f_0f0f_0f0f_0f0f
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) &>> 4) & ByteLanes.ones
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}
