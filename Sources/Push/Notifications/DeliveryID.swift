/// Names a delivery: a UUID, the same on every attempt; `apns-id` and the like are its text in lower case.
///
/// Both halves lie in place: ids are copied with each delivery and each report, and a text would be counted each time.
package struct DeliveryID: Hashable, Sendable {
    /// In UTF-8.
    package static let textLength = 36
    package static let byteCount = 16

    /// The nil UUID (RFC 9562 section 5.9). Stands for an id that cannot be read.
    package static let unknown = DeliveryID(first: 0, second: 0)

    /// As they read: the first byte is the highest one of the first half.
    private let first: UInt64
    private let second: UInt64

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    // Sets and dictionaries of ids call this alone. Ids are made with a secret or at random: nobody can choose where
    // they fall, so a hash that is cheap is enough.
    package func _rawHashValue(seed: Int) -> Int {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        let product = (first ^ second &* factor ^ UInt64(truncatingIfNeeded: seed)).multipliedFullWidth(by: factor)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }

    // MARK: Bytes

    /// Nil unless `bytes` are 16.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        first = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        second = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Makes a UUID of 16 bytes, whatever they are, by setting its version and variant (RFC 9562 section 4).
    package init(version: UInt8, of bytes: UnsafeRawBufferPointer) {
        let whole = DeliveryID(bytes: UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.byteCount))) ?? .unknown
        first = whole.first & ~0xF000 | UInt64(version & 0xF) << 12
        second = whole.second & ~(0b11 << 62) | 0b10 << 62
    }

    /// Lends the 16 bytes.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: (first.bigEndian, second.bigEndian), body)
    }
}

extension DeliveryID: LosslessStringConvertible {
    /// Takes a UUID in lower case and nothing else.
    package init?(_ text: String) {
        var text = text
        guard let id = text.withUTF8({ DeliveryID(text: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }

    package var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { room in
            write(to: UnsafeMutableRawBufferPointer(room))
            return Self.textLength
        }
    }

    /// Reads UTF-8. Nil unless that is a UUID in lower case. Digits and letters come in no order that could be
    /// foreseen, so nothing depends on which it is.
    package init?(text: UnsafeRawBufferPointer) {
        let hyphen = UInt8(ascii: "-")
        guard text.count == Self.textLength, text[8] == hyphen, text[13] == hyphen, text[18] == hyphen,
            text[23] == hyphen
        else { return nil }
        var isHex = true
        func digits(_ range: Range<Int>) -> UInt64 {
            var value: UInt64 = 0
            var flaws: UInt8 = 0
            for place in range {
                let byte = text[place]
                let (digit, letter) = (byte &- 0x30, byte &- 0x61)
                flaws |= (digit < 10 ? 0 : 1) & (letter < 6 ? 0 : 1)
                value = value << 4 | UInt64(digit < 10 ? digit : letter &+ 10)
            }
            isHex = isHex && flaws == 0
            return value
        }
        first = digits(0..<8) << 32 | digits(9..<13) << 16 | digits(14..<18)
        second = digits(19..<23) << 48 | digits(24..<36)
        guard isHex else { return nil }
    }

    /// Lends the text, which lies on the stack.
    package func withText<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeTemporaryAllocation(byteCount: Self.textLength, alignment: 1) { room in
            write(to: room)
            return try body(UnsafeRawBufferPointer(room))
        }
    }

    /// Writes the text into `room`, which has at least ``textLength`` bytes.
    package func write(to room: UnsafeMutableRawBufferPointer) {
        var place = 0
        for index in 0..<Self.byteCount {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                room[place] = UInt8(ascii: "-")
                place += 1
            }
            let byte = UInt8(truncatingIfNeeded: (index < 8 ? first : second) >> UInt64(56 - 8 * (index & 7)))
            room[place] = Self.digit(byte >> 4)
            room[place + 1] = Self.digit(byte & 0xF)
            place += 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }
}
