/// The few parts of Protocol Buffers' encoding that Chromium's push connection needs.
///
/// https://protobuf.dev/programming-guides/encoding/
enum ProtocolBuffers {
    static func varint(_ number: UInt64) -> [UInt8] {
        var (rest, bytes) = (number, [UInt8]())
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static func field(_ number: UInt64, _ value: UInt64) -> [UInt8] { varint(number << 3) + varint(value) }

    static func field(_ number: UInt64, _ value: [UInt8]) -> [UInt8] {
        varint(number << 3 | 2) + varint(UInt64(value.count)) + value
    }

    static func field(_ number: UInt64, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    static func field(_ number: UInt64, fixed value: UInt64) -> [UInt8] {
        varint(number << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// The first field of this number that holds bytes; nil if there is none, or the message is not well-formed.
    static func bytes(of wanted: UInt64, in message: [UInt8]) -> [UInt8]? {
        var rest = message[...]
        while let key = readVarint(&rest) {
            switch key & 7 {
            case 0: guard readVarint(&rest) != nil else { return nil }
            case 1: rest = rest.dropFirst(8)
            case 2:
                guard let length = readVarint(&rest), length <= UInt64(rest.count) else { return nil }
                if key >> 3 == wanted { return Array(rest.prefix(Int(length))) }
                rest = rest.dropFirst(Int(length))
            case 5: rest = rest.dropFirst(4)
            default: return nil
            }
        }
        return nil
    }

    /// Takes a number from the front; nil if it is not complete or has more than 64 bits.
    static func readVarint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for (place, byte) in bytes.prefix(10).enumerated() {
            guard place < 9 || byte < 2 else { return nil }
            number |= UInt64(byte & 127) << UInt64(place * 7)
            if byte < 128 {
                bytes = bytes.dropFirst(place + 1)
                return number
            }
        }
        return nil
    }
}
