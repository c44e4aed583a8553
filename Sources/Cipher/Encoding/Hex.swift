/// Hexadecimal digits, two a byte.
package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns the lowercase digits of `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(self.digits[Int(byte >> 4)])
            text.append(self.digits[Int(byte & 0x0f)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes that lowercase digits stand for, as NIP-01 wants them; `nil` for anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        self.decode(text, uppercase: false)
    }

    /// Returns the bytes that digits of either case stand for; `nil` for anything else.
    package static func decode(anyCase text: some StringProtocol) -> [UInt8]? {
        self.decode(text, uppercase: true)
    }

    private static func decode(_ text: some StringProtocol, uppercase: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for character in text.utf8 {
            guard let value = self.value(of: character, uppercase: uppercase) else {
                return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private static func value(of character: UInt8, uppercase: Bool) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F") where uppercase: character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
