/// Percent encoding of URLs (RFC 3986, section 2.1).
public enum PercentEncoding {
    /// Encodes all but what RFC 3986 calls unreserved, which no reader of a URL takes for anything else.
    public static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            if byte.isASCIILetterOrDigit || byte.isOne(of: "-._~") {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// The decoded bytes; nil where a `%` is not followed by two hex digits.
    public static func decode(_ encoded: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var bytes = encoded.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next()?.hexDigitValue, let low = bytes.next()?.hexDigitValue else { return nil }
                decoded.append(high << 4 | low)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// Whether RFC 3986 allows these bytes in a path and a query, `%` only before two hex digits.
    @inlinable
    public static func isTarget(_ bytes: some Sequence<UInt8>) -> Bool {
        var digitsAwaited = 0
        for byte in bytes {
            if digitsAwaited > 0 {
                guard byte.isASCIIHexDigit else { return false }
                digitsAwaited -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsAwaited = 2
            } else if !byte.isVisibleASCII || byte.isOne(of: "\"#<>[\\]^`{|}") {
                return false
            }
        }
        return digitsAwaited == 0
    }
}
