/// What strangers may write into their events.
enum HostileText {
    /// In every text that only ``Mode/alert`` may show.
    static let secret = "S3CRET"

    private static let pieces = [
        "a", "é", "漢字", "😀", "👨‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{302}\u{303}", "\"", "\\", "\\\"", "\",\"aps\":{", "}}", "\r\n", "\n",
        "\r\nx-injected: 1\r\n\r\n", "\t", "\u{0}", "\u{1}", "\u{1F}", "\u{7F}", "\u{85}", "\u{2028}", "\u{2029}",
        "\u{202E}", "\u{2066}", "\u{200B}\u{200B}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "</script>",
        "{{event.content}}", "%s%n", "\\u0022", "null", "1", " ",
    ]

    /// Mostly short, at times longer than any push may be.
    static func make(_ random: inout SplitMix) -> String {
        let count: Int
        switch Int.random(in: 0..<40, using: &random) {
        case 0...3: count = 0
        case 4: count = Int.random(in: 300...1500, using: &random)
        case 5, 6: count = Int.random(in: 50...300, using: &random)
        default: count = Int.random(in: 1...12, using: &random)
        }
        if random.once(in: 4), let piece = pieces.randomElement(using: &random) {
            return String(repeating: piece, count: count)
        }
        return (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    static func makeSecret(_ random: inout SplitMix) -> String {
        let text = make(&random)
        return random.once(in: 3) ? "" : secret + text
    }
}
