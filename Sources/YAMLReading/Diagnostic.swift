/// One mistake in a file that a person wrote: where it is and what was expected there.
package struct Diagnostic: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// From 1; 0 when the mistake is about the file as a whole.
    package let line: Int
    /// From 1; 0 when the mistake is about the line or the file as a whole.
    package let column: Int
    package let message: String

    package init(file: String, line: Int = 0, column: Int = 0, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }

    /// `file:line:column: message`, the form that editors and terminals turn into a link.
    package var description: String {
        line > 0 ? "\(file):\(line):\(column): \(message)" : "\(file): \(message)"
    }
}

/// All mistakes in a file, so that a person corrects them in one go. Never empty when thrown.
package struct Diagnostics: Error, Sendable, CustomStringConvertible {
    package let all: [Diagnostic]

    package init(_ all: [Diagnostic]) {
        self.all = all
    }

    package var description: String {
        all.map(\.description).joined(separator: "\n")
    }
}

/// Guesses which name somebody meant.
package enum NearestName {
    /// `; did you mean 'title'?` if one of `names` differs by at most two letters, or only in spelling
    /// (`MutableContent` for `mutable-content`); else nothing.
    package static func hint(_ word: String, among names: [String]) -> String {
        let bare = bare(word)
        if let name = names.first(where: { Self.bare($0) == bare }) { return "; did you mean '\(name)'?" }
        let nearest = names.map { (name: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }
        guard let nearest, nearest.distance <= max(1, min(2, word.count / 2)) else { return "" }
        return "; did you mean '\(nearest.name)'?"
    }

    private static func bare(_ word: String) -> String {
        word.lowercased().filter { $0 != "-" && $0 != "_" }
    }

    /// Levenshtein's distance between two words.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, diagonal + 1, row[j] + 1)
            }
        }
        return row[right.count]
    }
}
