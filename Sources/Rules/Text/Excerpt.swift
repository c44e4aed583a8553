/// The beginning of a text, as seed 000 wants it.
enum Excerpt {
    private static let limit = 100
    /// Room for characters of eight code points each.
    private static let byteLimit = 3200

    /// The first 100 characters, at most 3200 bytes, with `...` behind them if there were more. Never cuts inside a character.
    static func of(_ text: String) -> String {
        let beginning = text.beginning(limit, bytes: byteLimit)
        return beginning.endIndex < text.endIndex ? beginning + "..." : text
    }
}
