import Cipher

/// Percent encoding of URLs (RFC 3986 section 2.1).
enum PercentEncoding {
    /// The text that `encoded` stands for; nil when a `%` begins no two hex digits, or when that is no UTF-8.
    static func decode(_ encoded: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = encoded.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let decoded = Hex.decode(anyCase: Substring(rest.prefix(2))) else { return nil }
            bytes += decoded
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
