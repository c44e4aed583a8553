/// A row of folded characters to look for, and what it is.
struct Phrase: Sendable {
    let characters: [Character]
    let kind: PhraseEnds

    init(_ characters: [Character], _ kind: PhraseEnds) {
        self.characters = characters
        self.kind = kind
    }
}
