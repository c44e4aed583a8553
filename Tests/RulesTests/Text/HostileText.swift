import RandomTestSupport

/// Text that an attacker would write to break the display.
enum HostileText {
    /// U+FDD0, which Swift does not allow in a literal.
    static let noncharacter = String(decoding: [0xEF, 0xB7, 0x90] as [UInt8], as: UTF8.self)

    private static let pieces: [String] = [
        "alice", "{{event.id}}", "{{{", "}}", "\"", "\\", "\\u0000", "'", "<script>", "&amp;", "%00", "%0d%0a", "/../",
        "..", "?a=b",
        "#x", "javascript:alert(1)", "https://evil.example/", "a:b@c", "\r\nX-Injected: 1", "\r", "\n", "\u{0}",
        "\u{1B}[2J",
        "\u{7F}", "\u{85}", "\u{9B}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{202A}", "\u{2066}", "\u{2069}",
        "\u{200E}",
        "\u{200F}", "\u{061C}", "\u{200B}", "\u{200C}", "\u{200D}", "\u{FEFF}", "\u{AD}", "\u{34F}", "\u{3164}",
        "\u{E0001}",
        "\u{E0061}", "\u{E007F}", "\u{FE0F}", "\u{E0100}", "\u{301}", "\u{20DD}", "\u{489}", "\u{FFFE}", noncharacter,
        "\u{10FFFF}", "\u{FFFD}", "👩", "👍🏽", "🏴", "❤️", "🇩", "क", "्", "ی", "日本", "שלום", "مرحبا", " ", "\u{A0}",
        "\u{3000}", "\t", "1", "#", String(repeating: "\u{301}", count: 30), String(repeating: " ", count: 20),
    ]

    static func random(using random: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...24, using: &random) {
            if Int.random(in: 0..<4, using: &random) == 0 {
                let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
                text.unicodeScalars.append(scalar ?? "\u{FFFD}")
            } else {
                text += pieces.randomElement(using: &random) ?? ""
            }
        }
        return text
    }
}
