/// What phrases end at a place of a ``PhraseTree``, all of the same characters.
struct PhraseEnds: OptionSet, Sendable {
    let rawValue: UInt8

    /// A word that counts wherever it stands.
    static let anywhere = PhraseEnds(rawValue: 1)
    /// A word that counts with no letter or digit before and behind it.
    static let word = PhraseEnds(rawValue: 2)
    /// The same, for what begins with the sign.
    static let hashtag = PhraseEnds(rawValue: 4)
}
