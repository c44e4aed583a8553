public import PluginKit
import Synchronization

/// Drops what a recipient mutes (NIP-51, kind 10000): people, words, hashtags, and threads with their replies.
///
/// Only its owner can read a list's private entries: they are skipped, and that is logged once for each list.
public final class MutesFilter: PluginFilter {
    public static let name: StaticString = "mutes"
    public static let wantedKinds: [UInt32] = [10_000]

    private let settings: MutesSettings
    private let host: Host
    private let lists = RecipientMemory<MuteList>(weight: \.weight)
    /// Consecutive calls often concern the same event and different recipients.
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

    public func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterVerdict {
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
        // First, so that an event that is muted for another reason is still remembered as part of its thread.
        if isOfMutedThread(event, list) { return .drop(reason: "a muted thread") }
        if let author = author(of: event, call), list.people.contains(author) { return .drop(reason: "a muted person") }
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

    /// The author. The signer of a gift wrap is a throw-away key.
    private func author(of event: NostrEvent, _ call: borrowing FilterCall) -> Key32? {
        if !call.author.isEmpty { return Key32(call.author.string) }
        return Wording.giftWraps.contains(event.kind) ? nil : Key32(event.pubkey)
    }

    private func mentionPrivateEntries(of list: MuteList) {
        guard let encryption = list.privateEntries, let id = list.id else { return }
        let isNew = mentioned.withLock { mentioned in
            defer { mentioned.insert(id) }
            return mentioned.value(of: id) == nil
        }
        if isNew {
            host.log(.info, "a mute list has private entries (\(encryption)), which only its owner can read: skipped")
        }
    }
}

/// Which entries of mute lists are applied.
struct MutesSettings: Sendable {
    let people: Bool
    let words: Bool
    /// Whether a muted word matches whole words only.
    let wholeWords: Bool
    let hashtags: Bool
    let threads: Bool
    /// How many events of muted threads are remembered.
    let rememberedEvents: Int

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: [
            "people", "words", "whole_words", "hashtags", "threads", "remembered_events",
        ])
        people = try object.flag("people") ?? true
        words = try object.flag("words") ?? true
        wholeWords = try object.flag("whole_words") ?? false
        hashtags = try object.flag("hashtags") ?? true
        threads = try object.flag("threads") ?? true
        rememberedEvents = Int(try object.integer("remembered_events", in: 1...1_000_000) ?? 10_000)
    }
}

/// Events that belong to muted threads. Bounded.
struct ThreadMemory {
    private var threads: BoundedCache<Key32, Key32>

    init(capacity: Int) {
        threads = BoundedCache(capacity: capacity)
    }

    /// Whether the event `id`, which references `named`, is or belongs to one of the `muted` threads. If so it is
    /// remembered, so that its replies belong to the thread too.
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
