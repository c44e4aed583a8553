/// Looks for many phrases in a text at once: characters are numbered, and phrases lie by the number of their first.
struct PhraseMatcher: Sendable {
    private struct Pattern: Sendable {
        let numbers: [UInt32]
        let bound: Phrase.Bound
        let meaning: Phrase.Meaning
    }

    /// Of characters that are in no phrase.
    private static let other: UInt32 = 0

    private let numbers: [Character: UInt32]
    /// By the number of their first character.
    private let patterns: [[Pattern]]

    /// Empty phrases are left out.
    init(_ phrases: [Phrase]) {
        var numbers: [Character: UInt32] = [:]
        for character in phrases.lazy.flatMap(\.characters) where numbers[character] == nil {
            numbers[character] = UInt32(numbers.count + 1)
        }
        var patterns = [[Pattern]](repeating: [], count: numbers.count + 1)
        for phrase in phrases {
            let row = phrase.characters.compactMap { numbers[$0] }
            guard let first = row.first else { continue }
            patterns[Int(first)].append(Pattern(numbers: row, bound: phrase.bound, meaning: phrase.meaning))
        }
        self.numbers = numbers
        self.patterns = patterns
    }

    var isEmpty: Bool { numbers.isEmpty }

    /// What the first phrase means that is found in `text`; nil: none is.
    func firstMatch(in text: String) -> Phrase.Meaning? {
        guard !isEmpty, !text.isEmpty else { return nil }
        let characters = FoldedText(text).characters
        let row = characters.map { numbers[$0] ?? Self.other }
        for place in row.indices where row[place] != Self.other {
            for pattern in patterns[Int(row[place])] {
                let end = place + pattern.numbers.count
                guard end <= row.count, row[place..<end].elementsEqual(pattern.numbers),
                    Self.isBounded(pattern.bound, place..<end, in: characters)
                else { continue }
                return pattern.meaning
            }
        }
        return nil
    }

    private static func isBounded(_ bound: Phrase.Bound, _ range: Range<Int>, in text: [Character]) -> Bool {
        if case .none = bound { return true }
        let isFreeBefore = range.lowerBound == 0 || !text[range.lowerBound - 1].isPartOfWord
        let isFreeBehind = range.upperBound == text.count || !text[range.upperBound].isPartOfWord
        return isFreeBefore && isFreeBehind
    }
}

extension Character {
    fileprivate var isPartOfWord: Bool { isLetter || isNumber || self == "_" }
}
