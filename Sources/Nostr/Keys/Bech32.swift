/// A text of BIP-173: a readable prefix, values of five bits, and a checksum that finds typing mistakes.
package struct Bech32: Hashable, Sendable {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let separator = UInt8(ascii: "1")
    private static let checksumCount = 6
    /// The longest text in characters, beyond which the checksum promises less.
    package static let maximumCount = 90

    /// Lowercase.
    package let prefix: String
    /// Each below 32, the checksum left out.
    package let values: [UInt8]

    private init(prefix: String, values: [UInt8]) {
        self.prefix = prefix
        self.values = values
    }

    /// Cuts `bytes` into values of five bits, the last one filled with zeros.
    init(prefix: String, bytes: [UInt8]) {
        var values: [UInt8] = []
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                values.append(UInt8(truncatingIfNeeded: group >> bits) & 0x1f)
            }
        }
        if bits > 0 {
            values.append(UInt8(truncatingIfNeeded: group << (5 - bits)) & 0x1f)
        }
        self.init(prefix: prefix, values: values)
    }

    /// Reads a text in one case, either one; `nil` if anything in it is not as BIP-173 wants it. NIP-19 allows more
    /// characters than BIP-173 does: `limit` says how many.
    package init?(_ text: String, limit: Int = maximumCount) {
        let characters = Array(text.utf8)
        let lowercase = characters.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        let hasUppercase = characters != lowercase
        let hasLowercase = characters.contains { (0x61...0x7a).contains($0) }
        guard
            lowercase.count <= limit, !(hasUppercase && hasLowercase),
            let separator = lowercase.lastIndex(of: Self.separator)
        else { return nil }
        let prefix = lowercase[..<separator]
        let values = lowercase[(separator + 1)...].compactMap { character in
            Self.alphabet.firstIndex(of: character).map { UInt8(truncatingIfNeeded: $0) }
        }
        guard
            !prefix.isEmpty, prefix.allSatisfy({ (0x21...0x7e).contains($0) }),
            values.count == lowercase.count - separator - 1, values.count >= Self.checksumCount,
            Self.checksum(Self.expanded(prefix) + values) == 1
        else { return nil }
        self.init(prefix: String(decoding: prefix, as: UTF8.self), values: values.dropLast(Self.checksumCount))
    }

    /// The text in lowercase.
    package var text: String {
        let padded = Self.expanded(self.prefix.utf8) + self.values + [UInt8](repeating: 0, count: Self.checksumCount)
        let checksum = Self.checksum(padded) ^ 1
        let last = (0..<Self.checksumCount).map { position in
            UInt8(truncatingIfNeeded: checksum >> UInt32(5 * (Self.checksumCount - 1 - position))) & 0x1f
        }
        let characters = (self.values + last).map { Self.alphabet[Int($0 & 0x1f)] }
        return self.prefix + "1" + String(decoding: characters, as: UTF8.self)
    }

    /// The values put together to bytes; `nil` if what is left over is more than four bits, or not zero.
    package var bytes: [UInt8]? {
        var bytes: [UInt8] = []
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for value in self.values {
            group = group << 5 | UInt32(value)
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        return bits < 5 && group & (1 << bits - 1) == 0 ? bytes : nil
    }

    private static func expanded(_ prefix: some Sequence<UInt8>) -> [UInt8] {
        prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 0x1f }
    }

    /// The remainder of BIP-173's generator.
    private static func checksum(_ values: [UInt8]) -> UInt32 {
        let generator: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        return values.reduce(1) { remainder, value in
            let top = remainder >> 25
            return generator.enumerated().reduce((remainder & 0x1ff_ffff) << 5 ^ UInt32(value)) { sum, term in
                top >> UInt32(term.offset) & 1 == 1 ? sum ^ term.element : sum
            }
        }
    }
}
