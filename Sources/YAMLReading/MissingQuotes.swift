/// Finds texts without quotes that YAML takes for something else: `{{…}}` for a mapping, and `: ` for a key and its value.
enum MissingQuotes {
    /// What to write where `{{…}}` stands without quotes.
    static let ofTemplate = "a text with {{…}} in it needs quotes around it, as in \"{{author.name}}\""

    private static let ofColon = "a text with a colon and a blank in it needs quotes around it, as in \"New: a note\""

    /// `; a text … needs quotes` when one of `lines` of `text`, counted from 1, explains YAML's `problem`; else nothing.
    static func hint(for problem: String, at lines: [Int], in text: String) -> String {
        let all = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.contains(where: { all.indices.contains($0 - 1) && hasBareTemplate(all[$0 - 1]) }) {
            return "; " + ofTemplate
        }
        return problem.hasPrefix("mapping values are not allowed") ? "; " + ofColon : ""
    }

    /// Whether a value of the line begins with `{{` outside of quotes.
    private static func hasBareTemplate(_ line: Substring) -> Bool {
        var quote: Character?
        var isAtStart = true
        var rest = line
        while let character = rest.first {
            if let open = quote {
                if character == open { quote = nil }
            } else if isAtStart, rest.hasPrefix("{{") {
                return true
            } else if isAtStart, character == "\"" || character == "'" {
                quote = character
            } else if character == "#", isAtStart {
                return false
            }
            // A value begins behind one of these.
            isAtStart = ":,-[{".contains(character) || isAtStart && character.isWhitespace
            rest = rest.dropFirst()
        }
        return false
    }
}
