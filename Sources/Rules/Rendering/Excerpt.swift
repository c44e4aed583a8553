/// The beginning of a text, as seed 000 wants it.
enum Excerpt {
    private static let limit = 100

    /// The first 100 characters, with `...` behind them if there were more. Never cuts inside a character.
    static func of(_ text: String) -> String {
        // A character has at least one byte, so most texts need no counting.
        guard text.utf8.count > limit, let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex),
            end < text.endIndex
        else { return text }
        return text[..<end] + "..."
    }
}
