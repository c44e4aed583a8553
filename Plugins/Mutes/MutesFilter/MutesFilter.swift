public import PluginKit
import Synchronization

/// Spares recipients what they mute (NIP-51, kind 10000): people, words, hashtags, and threads with their children.
///
/// What a list holds in private only its owner can read: it is skipped, and that is said once for each list.
public final class MutesFilter: PluginFilter {
    public static let name: StaticString = "mutes"
    public static let wantedKinds: [UInt32] = [10_000]

    private let settings: MutesSettings
    private let host: Host
    private let lists = RecipientMemory<MuteList>(weight: \.weight)
    /// Many recipients are asked about one event, one after the other.
    private let events = ReadTexts<NostrEvent>(capacity: 2, longest: 262_144)
    private let wordings = ReadTexts<Wording>(capacity: 2, longest: 262_144)
    private let threads: Mutex<ThreadMemory>
    /// Lists, by their ids, of whose private entries something was said.
    private let mentioned = Mutex(RecentKeys<Key32, Bool>(capacity: 20_000))

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
        // First, so that also what is muted for another reason is remembered as its thread's.
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

    /// Whose doing it is; a gift wrap's signer is made for it.
    private func author(of event: NostrEvent, _ call: borrowing FilterCall) -> Key32? {
        if !call.author.isEmpty { return Key32(call.author.string) }
        return Wording.giftWraps.contains(event.kind) ? nil : Key32(event.pubkey)
    }

    private func mentionPrivateEntries(of list: MuteList) {
        guard let encryption = list.privateEntries, let id = list.id else { return }
        let isNew = mentioned.withLock { mentioned in
            defer { mentioned.set(true, for: id) }
            return mentioned.value(of: id) == nil
        }
        if isNew {
            host.log(.info, "a mute list has private entries (\(encryption)), which only its owner can read: skipped")
        }
    }
}
