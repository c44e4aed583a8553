import Cipher

/// UUIDs of version 4 (RFC 9562, section 5.4) in lower case.
enum UUIDText {
    static func make(_ random: RandomBytes) -> String {
        var bytes = random(16)
        for index in bytes.indices where index == 6 || index == 8 {
            bytes[index] = index == 6 ? bytes[index] & 0x0f | 0x40 : bytes[index] & 0x3f | 0x80
        }
        let hex = Hex.encode(bytes)
        var groups: [Substring] = []
        var rest = hex[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return groups.joined(separator: "-")
    }
}
