import PluginKit

/// What of a mute list can be read and counts. What is malformed in it is left out, and the rest mutes.
struct MuteList: Sendable {
    /// Who mutes more words and hashtags mutes those that the list names first: each is looked for in every text.
    private static let phraseLimit = 2000

    let id: Key32?
    let people: Set<Key32>
    let threads: Set<Key32>
    /// Folded.
    let hashtags: Set<[Character]>
    /// Words, and hashtags as they stand in texts.
    let phrases: PhraseMatcher
    /// How the private entries are encrypted; nil: there are none.
    let privateEntries: String?

    init(_ event: NostrEvent, _ settings: MutesSettings) {
        id = Key32(event.id)
        people = settings.people ? Set(event.values(of: "p").compactMap { Key32($0) }) : []
        threads = settings.threads ? Set(event.values(of: "e").compactMap { Key32($0) }) : []
        let tags = settings.hashtags ? event.values(of: "t").prefix(Self.phraseLimit).map(Self.hashtag) : []
        hashtags = Set(tags.filter { !$0.isEmpty })
        let words = settings.words ? event.values(of: "word").prefix(Self.phraseLimit) : []
        let wordBound: Phrase.Bound = settings.wholeWords ? .word : .none
        phrases = PhraseMatcher(
            words.map { Phrase(FoldedText($0).trimmed, wordBound, meaning: .word) }
                + hashtags.map { Phrase(["#"] + $0, .hashtag, meaning: .hashtag) }
        )
        privateEntries = event.content.isEmpty ? nil : event.content.contains("?iv=") ? "NIP-04" : "NIP-44"
    }

    /// Whether it mutes nothing.
    var isEmpty: Bool { people.isEmpty && threads.isEmpty && hashtags.isEmpty && phrases.isEmpty }

    /// Whether any of an event's `t` tags is muted.
    func mutesHashtag(among tags: [String]) -> Bool {
        !hashtags.isEmpty && tags.contains { hashtags.contains(Self.hashtag($0)) }
    }

    /// Some write the sign into the tag.
    private static func hashtag(_ tag: String) -> [Character] {
        let folded = FoldedText(tag).trimmed
        return folded.first == "#" ? Array(folded.dropFirst()) : folded
    }
}
