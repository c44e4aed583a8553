import PluginKit

/// What of a mute list can be read and counts. What is malformed in it is left out, and the rest mutes.
struct MuteList: Sendable {
    /// Who mutes more words and hashtags mutes those that the list names first.
    private static let phraseLimit = 2000
    /// Of a word or hashtag, in characters; a longer one is not one that people mean.
    private static let lengthLimit = 128
    /// Of all words and hashtags together, in characters.
    private static let lengthLimitOfAll = 32_768

    let id: Key32?
    let people: Set<Key32>
    let threads: Set<Key32>
    /// Folded.
    let hashtags: Set<String>
    /// Words, and hashtags as they stand in texts.
    let phrases: PhraseMatcher
    /// How the private entries are encrypted; nil: there are none.
    let privateEntries: String?

    init(_ event: NostrEvent, _ settings: MutesSettings) {
        id = Key32(event.id)
        people = settings.people ? Set(event.values(of: "p").compactMap { Key32($0) }) : []
        threads = settings.threads ? Set(event.values(of: "e").compactMap { Key32($0) }) : []
        var room = Self.lengthLimitOfAll
        func fitting(_ texts: [String], _ read: (String) -> [Character]) -> [[Character]] {
            var fitting: [[Character]] = []
            for text in texts.prefix(Self.phraseLimit) {
                let characters = read(text)
                guard !characters.isEmpty, characters.count <= min(Self.lengthLimit, room) else { continue }
                room -= characters.count
                fitting.append(characters)
            }
            return fitting
        }
        let words = settings.words ? fitting(event.values(of: "word")) { FoldedText($0).trimmed } : []
        let tags = settings.hashtags ? fitting(event.values(of: "t"), Self.hashtag) : []
        hashtags = Set(tags.map { String($0) })
        let kind: PhraseEnds = settings.wholeWords ? .word : .anywhere
        phrases = PhraseMatcher(words.map { Phrase($0, kind) } + tags.map { Phrase(["#"] + $0, .hashtag) })
        privateEntries = event.content.isEmpty ? nil : event.content.contains("?iv=") ? "NIP-04" : "NIP-44"
    }

    /// Whether it mutes nothing.
    var isEmpty: Bool { people.isEmpty && threads.isEmpty && hashtags.isEmpty && phrases.isEmpty }

    /// Whether it matters what an event says.
    var readsTexts: Bool { !hashtags.isEmpty || !phrases.isEmpty }

    /// About how many bytes it takes.
    var weight: Int { 64 * (people.count + threads.count) + 96 * hashtags.count + phrases.weight }

    /// Whether any of an event's hashtags, folded, is muted.
    func mutesHashtag(among tags: [String]) -> Bool {
        !hashtags.isEmpty && tags.contains { hashtags.contains($0) }
    }

    /// Some write the sign into the tag.
    static func hashtag(_ tag: String) -> [Character] {
        let folded = FoldedText(tag).trimmed
        return folded.first == "#" ? Array(folded.dropFirst()) : folded
    }
}
