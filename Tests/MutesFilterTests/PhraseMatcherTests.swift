import Testing

@testable import MutesFilter

struct PhraseMatcherTests {
    /// Returns the result of a search for every phrase at every position.
    private func slowMatch(_ phrases: [Phrase], in text: String) -> Bool {
        let characters = FoldedText(text).characters
        func isPartOfWord(_ place: Int) -> Bool {
            characters.indices.contains(place) && (characters[place].isLetter || characters[place].isNumber)
        }
        return phrases.contains { phrase in
            let length = phrase.characters.count
            return length > 0 && length <= characters.count
                && (0...characters.count - length).contains { place in
                    characters[place..<place + length].elementsEqual(phrase.characters)
                        && (phrase.kind == .anywhere || !isPartOfWord(place - 1) && !isPartOfWord(place + length))
                }
        }
    }

    /// Few characters make many phrases that share their start and end.
    @Test(arguments: UInt64(0)..<40) func matcherAgreesWithASlowSearch(seed: UInt64) {
        var random = SmallRandom(state: seed &+ 1)
        func text(_ lengths: ClosedRange<Int>) -> String {
            let length = Int.random(in: lengths, using: &random)
            return String((0..<length).map { _ in "aab #".randomElement(using: &random) ?? "a" })
        }
        for _ in 0..<40 {
            let phrases = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                let kind: PhraseEnds = [.anywhere, .word, .hashtag].randomElement(using: &random) ?? .word
                return Phrase(FoldedText(text(0...6)).trimmed, kind)
            }
            let matcher = PhraseMatcher(phrases)
            for _ in 0..<10 {
                let text = text(0...24)
                #expect((matcher.firstMatch(in: ReadableText(text)) != nil) == slowMatch(phrases, in: text), "\(text)")
            }
        }
    }

    @Test func overlappingPhrasesAreAllFound() {
        let matcher = PhraseMatcher([
            Phrase(["#", "a"], .hashtag), Phrase(["#", "a"], .word), Phrase(["a", "b"], .anywhere),
        ])
        #expect(matcher.firstMatch(in: ReadableText("#a"))?.contains(.hashtag) == true)
        #expect(matcher.firstMatch(in: ReadableText("x#ab")) == .anywhere)
        #expect(matcher.firstMatch(in: ReadableText("x#a")) == nil)
    }

    /// Phrases that differ only at their ends, and a text without them: 2000 × 100,000 × 60 comparisons, if each phrase
    /// was compared at each position.
    @Test func adversarialListStaysFast() {
        let phrases = (0..<2000).map { Phrase(Array(String(repeating: "a", count: 60) + "b\($0)"), .anywhere) }
        let text = ReadableText(String(repeating: "a", count: 100_000))
        #expect(PhraseMatcher(phrases).firstMatch(in: text) == nil)
        let words = (1...128).map { Phrase([Character](repeating: "a", count: $0), .word) }
        #expect(PhraseMatcher(words).firstMatch(in: text) == nil)
    }
}

private struct SmallRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
