import Testing

@testable import Rules

@Suite struct ExcerptTests {
    /// One character of Unicode in 20,001 bytes.
    private let tower = "a" + String(repeating: "\u{301}", count: 10_000)

    @Test(arguments: ["a", "ß", "語", "😀", "🇩🇪"])
    func charactersOfEveryLanguageCountAlike(character: String) {
        let hundred = String(repeating: character, count: 100)
        #expect(Excerpt.of(hundred) == hundred)
        #expect(Excerpt.of(hundred + character) == hundred + "...")
    }

    @Test func aCharacterAsLongAsAnEventIsLeftOut() {
        #expect(tower.count == 1)
        #expect(Excerpt.of(tower) == "...")
        #expect(Excerpt.of("hello " + tower) == "hello ...")
        #expect(String(repeating: tower, count: 3).beginning(400, bytes: 3200).isEmpty)
    }

    @Test func whatTakesManyBytesIsCutBetweenCharacters() {
        let letter = "e" + String(repeating: "\u{301}", count: 50)
        let excerpt = Excerpt.of(String(repeating: letter, count: 200))
        #expect(excerpt == String(repeating: letter, count: 3200 / letter.utf8.count) + "...")
    }
}
