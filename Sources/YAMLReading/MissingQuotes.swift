import Yams

/// Finds texts without quotes that YAML takes for something else: `{{…}}` for a mapping, `: ` for a key and its value.
enum MissingQuotes {
    /// What to write where `{{…}}` stands without quotes.
    static let ofTemplate = "a text with {{…}} in it needs quotes around it, as in \"{{author.name}}\""

    private static let ofColon = "a text with a colon and a blank in it needs quotes around it, as in \"New: a note\""

    /// `; a text … needs quotes` if missing quotes explain why YAML failed at `mark` in what began at `start`; else
    /// nothing.
    static func hint(at mark: Mark, from start: Mark?, in text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        func line(_ mark: Mark?) -> Substring {
            guard let mark, lines.indices.contains(mark.line - 1) else { return "" }
            return lines[mark.line - 1]
        }
        if hasBareTemplate(line(mark)) || hasBareTemplate(line(start)) { return "; " + ofTemplate }
        return line(mark).dropFirst(mark.column - 1).first == ":" ? "; " + ofColon : ""
    }

    /// Whether the line has `{{` outside of quotes and comments.
    private static func hasBareTemplate(_ line: Substring) -> Bool {
        var quote: Character?
        var isAtStart = true
        var rest = line
        while let character = rest.first {
            if let open = quote {
                if character == open { quote = nil }
            } else if rest.hasPrefix("{{") {
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
