/// The id of a delivery: a UUID that is the same on every attempt. `apns-id` and the like are its lower-case text.
///
/// Both halves are stored inline, because ids are copied with each delivery and report, and a string would need
/// reference counting.
package struct DeliveryID: Hashable, Sendable {
    /// The length in UTF-8 bytes.
    package static let textLength = 36
    package static let byteCount = 16

    /// The nil UUID (RFC 9562 section 5.9). Represents an id that cannot be read.
    package static let unknown = DeliveryID(first: 0, second: 0)

    /// In reading order: the first byte is the most significant one of the first half.
    private let first: UInt64
    private let second: UInt64

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    // Only sets and dictionaries of ids call this. Ids are random or derived from a secret, so attackers cannot choose
    // collisions, and a cheap hash is enough.
    package func _rawHashValue(seed: Int) -> Int {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        let product = (first ^ second &* factor ^ UInt64(truncatingIfNeeded: seed)).multipliedFullWidth(by: factor)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }

    // MARK: Bytes

    /// Nil unless there are 16 `bytes`.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        first = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        second = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Makes a UUID from any 16 bytes by setting its version and variant (RFC 9562 section 4).
    package init(version: UInt8, of bytes: UnsafeRawBufferPointer) {
        let whole = DeliveryID(bytes: UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.byteCount))) ?? .unknown
        first = whole.first & ~0xF000 | UInt64(version & 0xF) << 12
        second = whole.second & ~(0b11 << 62) | 0b10 << 62
    }

    /// Calls `body` with the 16 bytes.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: (first.bigEndian, second.bigEndian), body)
    }
}

extension DeliveryID: LosslessStringConvertible {
    /// Parses a UUID in lower case.
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

    /// Parses a UUID in lower case from UTF-8; nil for other texts. It has no branches that depend on a digit's kind,
    /// because these would be mispredicted.
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

    /// Calls `body` with the text, which is on the stack.
    package func withText<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeTemporaryAllocation(byteCount: Self.textLength, alignment: 1) { room in
            write(to: room)
            return try body(UnsafeRawBufferPointer(room))
        }
    }

    /// Writes the text into `room`, which must have at least ``textLength`` bytes.
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
