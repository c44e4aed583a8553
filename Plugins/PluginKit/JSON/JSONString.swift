/// The inside of JSON strings that were checked before.
enum JSONString {
    /// What a string that is given with its quotes says, as UTF-8.
    static func unescape(_ raw: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(raw.count)
        var rest = raw.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
                text.append(byte)
                continue
            }
            switch kind {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text.append(contentsOf: scalar(&rest).utf8)
            default: text.append(kind)
            }
        }
        return text
    }

    /// The character behind `\u`, of one or two units.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> String {
        let first = unit(&rest)
        guard (0xD800...0xDBFF).contains(first) else { return String(decoding: [first], as: UTF16.self) }
        rest = rest.dropFirst(2)
        return String(decoding: [first, unit(&rest)], as: UTF16.self)
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        var value: UInt16 = 0
        for byte in rest.prefix(4) {
            value = value << 4 | UInt16(byte.hexDigitValue ?? 0)
        }
        rest = rest.dropFirst(4)
        return value
    }
}
