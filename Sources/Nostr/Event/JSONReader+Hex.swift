private import Cipher
import JSON

extension JSONReader {
    /// Reads a string of 64 lowercase hexadecimal digits. `nil`, and no further than that, if something else stands
    /// there.
    @inline(__always)
    mutating func hexString() throws(Failure) -> Bytes32? {
        if let bytes = takePlainHex() { return bytes }
        return try escapedHex(count: 64)?.first
    }

    /// Reads a string of 128 lowercase hexadecimal digits.
    @inline(__always)
    mutating func signature() throws(Failure) -> Signature? {
        if position &+ 130 <= count, next == UInt8(ascii: "\""), byte(position &+ 129) == UInt8(ascii: "\""),
            let first = Bytes32(digits: base + (position &+ 1)),
            let second = Bytes32(digits: base + (position &+ 65))
        {
            position &+= 130
            return Signature(first: first, second: second)
        }
        return try escapedHex(count: 128)
    }

    /// Goes past a string of 64 or 128 lowercase hexadecimal digits without reading what they say. False, and no
    /// further than that, if something else stands there.
    @inline(__always)
    mutating func skipHex(count digits: Int) throws(Failure) -> Bool {
        if position &+ digits &+ 2 <= count, next == UInt8(ascii: "\""),
            byte(position &+ digits &+ 1) == UInt8(ascii: "\""), Hex.areDigits(base + (position &+ 1), count: digits)
        {
            position &+= digits &+ 2
            return true
        }
        return try escapedHex(count: digits) != nil
    }

    /// The same as ``hexString()`` for digits without escapes; leaves everything as it is if there is anything else.
    @inline(__always)
    mutating func takePlainHex() -> Bytes32? {
        guard position &+ 66 <= count, next == UInt8(ascii: "\""), byte(position &+ 65) == UInt8(ascii: "\""),
            let bytes = Bytes32(digits: base + (position &+ 1))
        else { return nil }
        position &+= 66
        return bytes
    }

    /// Goes past `"p",` if that is next, just so.
    @inline(__always)
    mutating func takePlainP() -> Bool {
        guard position &+ 8 <= count, word(position) & 0xffff_ffff == 0x2c22_7022 else { return false }
        position &+= 4
        return true
    }

    /// `"\u0061…"` says the same as `"a…"`. The second half of the answer is empty for 64 digits.
    @inline(never)
    private mutating func escapedHex(count digits: Int) throws(Failure) -> Signature? {
        guard next == UInt8(ascii: "\"") else { return nil }
        let string = try string()
        return string.traits.contains(.escaped) ? hex(string, count: digits) : nil
    }

    /// What a string of 64 digits says, escaped or not; `nil` if it says something else.
    func hex(_ string: JSONString) -> Bytes32? {
        hex(string, count: 64)?.first
    }

    private func hex(_ string: JSONString, count digits: Int) -> Signature? {
        // Escapes make a string six times as long at most; what is longer cannot be worth decoding.
        guard string.count >= digits, string.count <= 6 * digits else { return nil }
        return bytes(string).withUnsafeBytes { text in
            guard text.count == digits, let start = text.baseAddress, let first = Bytes32(digits: start) else {
                return nil
            }
            guard digits == 128 else { return Signature(first: first, second: Bytes32(words: (0, 0, 0, 0))) }
            return Bytes32(digits: start + 64).map { Signature(first: first, second: $0) }
        }
    }
}
