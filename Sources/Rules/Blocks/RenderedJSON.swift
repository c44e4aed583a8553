/// Writes JSON text without whitespace. Inserted text cannot leave its quotes.
struct RenderedJSON {
    private(set) var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ punctuation: Unicode.Scalar) {
        bytes.append(UInt8(truncatingIfNeeded: punctuation.value))
    }

    /// Appends JSON.
    mutating func append(json: [UInt8]) {
        bytes += json
    }

    mutating func append(_ number: Int64) {
        append(ascii: String(number))
    }

    /// - Precondition: `number` is finite; JSON has no other.
    mutating func append(_ number: Double) {
        if let whole = Int64(exactly: number) { append(whole) } else { append(ascii: String(number)) }
    }

    mutating func append(_ flag: Bool) {
        append(ascii: flag ? "true" : "false")
    }

    mutating func appendNull() {
        append(ascii: "null")
    }

    /// Appends a JSON string.
    mutating func append(quoted text: String) {
        var text = text
        bytes.append(0x22)
        text.withUTF8 { utf8 in
            var start = 0
            for (index, byte) in utf8.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F {
                bytes += utf8[start..<index]
                start = index + 1
                switch byte {
                case 0x22, 0x5C: bytes += [0x5C, byte]
                case 0x0A: bytes += [0x5C, 0x6E]
                default: bytes += [0x5C, 0x75, 0x30, 0x30, Self.hex[Int(byte >> 4)], Self.hex[Int(byte & 15)]]
                }
            }
            bytes += utf8[start...]
        }
        bytes.append(0x22)
    }

    /// Removes everything after the first `count` bytes.
    mutating func truncate(to count: Int) {
        bytes.removeLast(bytes.count - count)
    }

    private static let hex = Array("0123456789abcdef".utf8)

    private mutating func append(ascii text: String) {
        bytes += text.utf8
    }
}
