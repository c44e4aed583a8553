import PluginKit

/// The readable entries of a mute list that the settings apply. Malformed entries are skipped.
struct MuteList: Sendable {
    /// Only the first words and hashtags of a longer list count.
    private static let phraseLimit = 2000
    /// The longest word or hashtag, in characters.
    private static let lengthLimit = 128
    /// All words and hashtags together, in characters.
    private static let lengthLimitOfAll = 32_768

    let id: Key32?
    let people: Set<Key32>
    let threads: Set<Key32>
    /// Folded.
    let hashtags: Set<String>
    /// Words, and hashtags as they appear in texts.
    let phrases: PhraseMatcher
    /// The encryption of the private entries; nil: there are none.
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

    var isEmpty: Bool { people.isEmpty && threads.isEmpty && hashtags.isEmpty && phrases.isEmpty }

    /// Whether the list has entries that match texts.
    var readsTexts: Bool { !hashtags.isEmpty || !phrases.isEmpty }

    /// Its size in memory, roughly, in bytes.
    var weight: Int { 64 * (people.count + threads.count) + 96 * hashtags.count + phrases.weight }

    /// Whether any of an event's folded hashtags is muted.
    func mutesHashtag(among tags: [String]) -> Bool {
        !hashtags.isEmpty && tags.contains { hashtags.contains($0) }
    }

    /// Some clients write the sign into the tag.
    static func hashtag(_ tag: String) -> [Character] {
        let folded = FoldedText(tag).trimmed
        return folded.first == "#" ? Array(folded.dropFirst()) : folded
    }
}

/// A public key or an event's id: 32 bytes.
struct Key32: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil for anything but 64 hex digits.
    init?(_ hex: String) {
        guard hex.utf8.count == 64 else { return nil }
        var words: [UInt64] = []
        var rest = hex.utf8[...]
        while !rest.isEmpty {
            var word: UInt64 = 0
            for digit in rest.prefix(16) {
                guard let value = Self.value(digit) else { return nil }
                word = word << 4 | value
            }
            words.append(word)
            rest = rest.dropFirst(16)
        }
        self.words = (words[0], words[1], words[2], words[3])
    }

    private static func value(_ digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(digit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    static func == (one: Key32, other: Key32) -> Bool { one.words == other.words }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
