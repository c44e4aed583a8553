/// A text prepared once for the phrases of many lists: folded, and each of its characters as the place of that character in an
/// alphabet of the text's own.
struct ReadableText: Sendable {
    private(set) var alphabet: [Character] = []
    private(set) var letters: [UInt32] = []
    /// By the alphabet: whether it is a letter or digit.
    private let isPartOfWord: [Bool]

    init(_ text: String) {
        let characters = FoldedText(text).characters
        var places: [Character: UInt32] = [:]
        letters.reserveCapacity(characters.count)
        for character in characters {
            if let place = places[character] {
                letters.append(place)
                continue
            }
            let place = UInt32(alphabet.count)
            places[character] = place
            alphabet.append(character)
            letters.append(place)
        }
        isPartOfWord = alphabet.map { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// Whether a word may begin at that place.
    func isFree(before place: Int) -> Bool { place == 0 || !isPartOfWord[Int(letters[place - 1])] }

    /// Whether a word may end before that place.
    func isFree(behind place: Int) -> Bool { place == letters.count || !isPartOfWord[Int(letters[place])] }
}
