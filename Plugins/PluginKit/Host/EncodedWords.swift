import ASCII

/// Any text as the value of a header field (RFC 2047).
public enum EncodedWords {
    /// Bytes in one encoded word, which may have 75 characters, three for each byte.
    private static let wordLimit = 20

    /// Printable ASCII as it is; anything else in encoded words, with control characters as blanks.
    public static func encode(_ text: String) -> String {
        let clean = String(
            text.map { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ? $0 : " " }
        )
        guard !clean.utf8.allSatisfy({ $0 < 0x80 }) else { return clean }
        var words: [String] = [""]
        for scalar in clean.unicodeScalars {
            if words[words.count - 1].utf8.count + UTF8.width(scalar) > wordLimit { words.append("") }
            words[words.count - 1].unicodeScalars.append(scalar)
        }
        return words.map { "=?UTF-8?Q?\(quoted($0))?=" }.joined(separator: " ")
    }

    /// The encoding `Q` of RFC 2047, which is percent encoding with another sign.
    private static func quoted(_ text: String) -> String {
        PercentEncoding.encode(text).reduce(into: "") { $0 += $1 == "%" ? "=" : $1 == "_" ? "=5F" : String($1) }
    }
}
