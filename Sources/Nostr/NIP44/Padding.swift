/// NIP-44's padding: a length prefix, the plaintext, and zeros that blur the length.
enum Padding {
    /// Lengths from here on take the extended prefix.
    private static let extendedLength = 65_536

    /// How many bytes plaintext and zeros have together; the prefix is not counted.
    static func paddedLength(_ length: Int) -> Int {
        guard length > 32 else {
            return 32
        }
        let nextPower = 1 << (Int.bitWidth - (length - 1).leadingZeroBitCount)
        let chunk = nextPower <= 256 ? 32 : nextPower / 8
        return chunk * ((length - 1) / chunk + 1)
    }

    static func pad(_ plaintext: [UInt8]) throws -> [UInt8] {
        guard let length = UInt32(exactly: plaintext.count), length > 0 else {
            throw NIP44Error.invalidPlaintextLength
        }
        let total = self.paddedLength(plaintext.count)
        var padded: [UInt8] = []
        padded.reserveCapacity(6 + total)
        if plaintext.count >= self.extendedLength {
            padded += [0, 0, UInt8(truncatingIfNeeded: length >> 24), UInt8(truncatingIfNeeded: length >> 16)]
        }
        padded += [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
        padded += plaintext
        padded += repeatElement(0, count: total - plaintext.count)
        return padded
    }

    static func unpad(_ padded: [UInt8]) throws -> [UInt8] {
        guard let (length, prefix) = self.prefix(of: padded) else {
            throw NIP44Error.invalidPadding
        }
        let end = prefix + length
        // The zeros themselves are not looked at: the MAC vouches for them.
        guard length > 0, end <= padded.count, padded.count == prefix + self.paddedLength(length) else {
            throw NIP44Error.invalidPadding
        }
        return Array(padded[prefix..<end])
    }

    /// Returns the declared length, and the bytes that declare it.
    private static func prefix(of padded: [UInt8]) -> (length: Int, count: Int)? {
        func number(_ range: Range<Int>) -> Int {
            padded[range].reduce(0) { $0 << 8 | Int($1) }
        }
        guard padded.count >= 2 else {
            return nil
        }
        let short = number(0..<2)
        guard short == 0 else {
            return (short, 2)
        }
        guard padded.count >= 6 else {
            return nil
        }
        let long = number(2..<6)
        return long >= self.extendedLength ? (long, 6) : nil
    }
}
