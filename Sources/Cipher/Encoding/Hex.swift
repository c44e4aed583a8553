/// Hexadecimal digits, two a byte.
package enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns the lowercase digits of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable { self.encode(contiguous: $0) }
            ?? Array(bytes).withUnsafeBufferPointer { self.encode(contiguous: $0) }
    }

    /// Returns the bytes that lowercase digits stand for, as NIP-01 wants them; `nil` for anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        self.decode(text, uppercase: false)
    }

    /// Returns the bytes that digits of either case stand for; `nil` for anything else.
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
        // Read in place where the text allows it: through the protocol, each character would be a call.
        let bytes = text.utf8.withContiguousStorageIfAvailable { self.decode(contiguous: $0, uppercase: uppercase) }
        return bytes ?? Array(text.utf8).withUnsafeBufferPointer { self.decode(contiguous: $0, uppercase: uppercase) }
    }

    private static func decode(contiguous text: UnsafeBufferPointer<UInt8>, uppercase: Bool) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard
                let high = self.value(of: text[index], uppercase: uppercase),
                let low = self.value(of: text[index + 1], uppercase: uppercase)
            else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
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
