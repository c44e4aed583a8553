/// The beginning of a text, as seed 000 wants it.
enum Excerpt {
    /// Room for characters of eight code points each.
    private static let bytesPerCharacter = 32

    /// The first `count` characters, at most 32 bytes for each, with `...` behind them if there were more. Never cuts inside a
    /// character.
    static func of(_ text: String, characters count: Int = 100) -> String {
        let beginning = beginning(of: text, characters: count)
        return beginning.endIndex < text.endIndex ? beginning + "..." : text
    }

    /// The same without the dots.
    static func beginning(of text: String, characters count: Int) -> Substring {
        text.beginning(count, bytes: count * bytesPerCharacter)
    }
}
