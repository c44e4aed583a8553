public import PluginKit
import Synchronization

/// Drops events that a recipient mutes (NIP-51, kind 10000): people, words, hashtags, and threads with their replies.
///
/// Only the owner can decrypt a list's private entries. They are skipped, which is logged once for each list.
public final class MutesFilter: PluginFilter {
    public static let name: StaticString = "mutes"
    public static let wantedKinds: [UInt32] = [10_000]

    private let settings: MutesSettings
    private let host: Host
    private let lists = RecipientMemory<MuteList>(weight: \.weight)
    /// A cache for consecutive calls, which often concern the same event and different recipients.
    private let events = ReadTexts<NostrEvent>(capacity: 2, longest: 262_144)
    private let wordings = ReadTexts<Wording>(capacity: 2, longest: 262_144)
    private let threads: Mutex<ThreadMemory>
    /// Ids of lists whose private entries were logged.
    private let mentioned = Mutex(BoundedCache<Key32, Void>(capacity: 20_000))

    public init(configuration: JSONObject, host: Host) throws(PluginError) {
        settings = try MutesSettings(configuration)
        self.host = host
        threads = Mutex(ThreadMemory(capacity: settings.rememberedEvents))
    }

    public func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterDecision {
        guard let text = call.recipientEvent(at: 0) else { return .pass }
        let settings = settings
        let list: MuteList
        let event: NostrEvent
        do throws(JSONError) {
            list = try lists.value(of: text, for: call.recipient.string) { text throws(JSONError) in
                let list = try MuteList(NostrEvent(parsing: text), settings)
                mentionPrivateEntries(of: list)
                return list
            }
            guard !list.isEmpty else { return .pass }
            event = try events.value(of: call.event) { text throws(JSONError) in try NostrEvent(parsing: text) }
        } catch {
            throw PluginError("an event cannot be read: \(error)")
        }
        // First, so that an event that is muted for another reason still counts as part of its thread.
        if isOfMutedThread(event, list) { return .drop(reason: "a muted thread") }
        if let author = Key32(call.author.string), list.people.contains(author) {
            return .drop(reason: "a muted account")
        }
        guard list.readsTexts else { return .pass }
        let wording = wordings.value(of: call.event) { _ in Wording(of: event) }
        if list.mutesHashtag(among: wording.hashtags) { return .drop(reason: "a muted hashtag") }
        switch list.phrases.firstMatch(in: wording.text) {
        case nil: return .pass
        case .hashtag: return .drop(reason: "a muted hashtag")
        default: return .drop(reason: "a muted word")
        }
    }

    private func isOfMutedThread(_ event: NostrEvent, _ list: MuteList) -> Bool {
        guard !list.threads.isEmpty, let id = Key32(event.id) else { return false }
        let named = event.tags.lazy.filter { $0.count > 1 && ($0[0] == "e" || $0[0] == "E") }.compactMap {
            Key32($0[1])
        }
        return threads.withLock { $0.isPart(id, naming: named, of: list.threads) }
    }

    private func mentionPrivateEntries(of list: MuteList) {
        guard let encryption = list.privateEntries, let id = list.id else { return }
        let isNew = mentioned.withLock { mentioned in
            defer { mentioned.insert(id) }
            return mentioned.value(of: id) == nil
        }
        if isNew {
            host.log(.info, "skipped a mute list's private entries (\(encryption)), which only its owner can decrypt")
        }
    }
}

/// The entries of mute lists that the filter applies.
struct MutesSettings: Sendable {
    let people: Bool
    let words: Bool
    /// Whether a muted word matches whole words only.
    let wholeWords: Bool
    let hashtags: Bool
    let threads: Bool
    /// The maximum number of stored events of muted threads.
    let rememberedEvents: Int

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: ["people", "words", "whole_words", "hashtags", "threads", "remembered_events"])
        people = try object.flag("people") ?? true
        words = try object.flag("words") ?? true
        wholeWords = try object.flag("whole_words") ?? false
        hashtags = try object.flag("hashtags") ?? true
        threads = try object.flag("threads") ?? true
        rememberedEvents = Int(try object.integer("remembered_events", in: 1...1_000_000) ?? 10_000)
    }
}

/// The events that belong to muted threads, up to a limit.
struct ThreadMemory {
    private var threads: BoundedCache<Key32, Key32>

    init(capacity: Int) {
        threads = BoundedCache(capacity: capacity)
    }

    /// Whether the event `id`, which references `named`, is or belongs to one of the `muted` threads. If so, it is
    /// stored, so that its replies belong to the thread too.
    mutating func isPart(_ id: Key32, naming named: some Sequence<Key32>, of muted: Set<Key32>) -> Bool {
        if muted.contains(id) { return true }
        for key in named {
            let thread = muted.contains(key) ? key : threads.value(of: key)
            guard let thread, muted.contains(thread) else { continue }
            threads.set(thread, for: id)
            return true
        }
        return false
    }
}

/// The readable entries of a mute list, limited by the settings. Malformed entries are skipped.
struct MuteList: Sendable {
    /// The maximum number of words, and of hashtags; the rest of a longer list is ignored.
    private static let phraseLimit = 2000
    /// The maximum length of a word or hashtag, in characters.
    private static let lengthLimit = 128
    /// The maximum total length of words and hashtags, in characters.
    private static let lengthLimitOfAll = 32_768

    let id: Key32?
    let people: Set<Key32>
    let threads: Set<Key32>
    /// The folded hashtags.
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

    /// Its approximate size in memory, in bytes.
    var weight: Int { 64 * (people.count + threads.count) + 96 * hashtags.count + phrases.weight }

    /// Whether any of an event's folded hashtags is muted.
    func mutesHashtag(among tags: [String]) -> Bool {
        !hashtags.isEmpty && tags.contains { hashtags.contains($0) }
    }

    /// Returns the folded hashtag without its sign, which some clients write into the tag.
    static func hashtag(_ tag: String) -> [Character] {
        let folded = FoldedText(tag).trimmed
        return folded.first == "#" ? Array(folded.dropFirst()) : folded
    }
}

/// A public key or an event id: 32 bytes.
struct Key32: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Returns nil unless `hex` is 64 hex digits.
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
