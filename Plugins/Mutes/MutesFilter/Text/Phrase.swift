/// A row of folded characters to look for.
struct Phrase: Sendable {
    /// What may stand beside it.
    enum Bound: Sendable {
        /// Anything.
        case none
        /// No letter or digit before and behind it.
        case word
        /// The same, for what begins with the sign.
        case hashtag
    }

    enum Meaning: Sendable {
        case word
        case hashtag
    }

    let characters: [Character]
    let bound: Bound
    let meaning: Meaning

    init(_ characters: [Character], _ bound: Bound, meaning: Meaning) {
        self.characters = characters
        self.bound = bound
        self.meaning = meaning
    }
}
