import Cipher
import Core
import Foundation
import JSON
import Nostr
import Rules

/// What is remembered of a profile (kind 0).
struct ContextProfile: Sendable, Hashable {
    /// Nil when it gives none.
    let name: String?
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64
    var learnedAt: Timestamp
}

/// What is remembered of an event that others may refer to.
struct ContextNote: Sendable, Hashable {
    /// Only so much of a note is ever shown.
    private static let contentLimit = 400
    private static let byteLimit = 3200

    let author: PublicKey
    /// The key that the author claims to speak for, in `root_identity`. Not proven.
    let root: PublicKey?
    let kind: Kind
    /// The beginning; nil where nobody may be shown it.
    let content: String?
}

extension ContextNote {
    init(_ event: Event, withContent: Bool = true) {
        self.init(
            author: event.pubkey,
            root: event.value(of: "root_identity").flatMap { PublicKey(hex: $0) },
            kind: event.kind,
            content: withContent ? String(event.content.beginning(Self.contentLimit, bytes: Self.byteLimit)) : nil
        )
    }
}

/// What a profile (kind 0) calls its author.
package enum AuthorName {
    /// Longer names are cut, in characters.
    private static let limit = 80
    private static let byteLimit = 640
    /// The fields of a profile that may hold a name, in the order of preference.
    private static let fields = ["display_name", "displayName", "name", "username", "handle"]

    /// The first name that is more than white space; nil when there is none.
    static func of(profile content: String) -> String? {
        guard case .object(let profile)? = try? JSONValue(parsing: content, duplicates: .lastCounts) else { return nil }
        for field in fields {
            guard case .string(let text)? = profile[field] else { continue }
            let name = text.trimmingCharacters(in: .whitespacesAndNewlines).beginning(limit, bytes: byteLimit)
            if !name.isEmpty { return String(name) }
        }
        return nil
    }

    /// The name of an anonymous sender of a zap.
    static let anonymous = "Anonymous"

    /// What stands in for the name of the person behind an event, while their profile is not known.
    package static func standIn(for relevance: Relevance) -> String {
        relevance.zap?.isAnonymous == true ? anonymous : standIn(for: relevance.author)
    }

    /// What stands in for a name: the first eight digits of the key. Short enough to need no memory.
    static func standIn(for key: PublicKey) -> String {
        key.bytes.withUnsafeBytes { Hex.encode($0.prefix(4)) } + "..."
    }

    /// The same of a key in digits.
    package static func standIn(for publicKeyHex: String) -> String {
        publicKeyHex.prefix(8) + "..."
    }
}

/// One kind of what is known, in memory: what was learned, what is known not to be on disk, and what the disk has yet
/// to take.
struct ContextTable<Key: Hashable & Sendable, Value: Sendable> {
    /// Most entries say that something is not known: these take no room for a value.
    private final class Entry: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var memory: BoundedCache<Key, Entry?>
    private var unwritten: [Key: Value] = [:]

    init(capacity: Int) {
        memory = BoundedCache(capacity: 2 * capacity)
    }

    /// What is known, for which `load` asks the disk the first time.
    mutating func value(for key: Key, load: (Key) -> Value?) -> Value? {
        memory.value(of: key) { load(key).map(Entry.init) }?.value
    }

    /// `isKept` says whether the disk is to have it too.
    mutating func learn(_ value: Value, for key: Key, isKept: Bool = true) {
        memory.set(Entry(value), for: key)
        if isKept { unwritten[key] = value }
    }

    /// Forgets what is known, here and for what the disk has yet to take.
    mutating func forget(_ key: Key) {
        memory.set(nil, for: key)
        unwritten[key] = nil
    }

    /// Forgets all that `isForgotten` says yes to, as far as it is in memory.
    mutating func forget(where isForgotten: (Value) -> Bool) {
        memory.remove { $1.map { isForgotten($0.value) } ?? false }
        unwritten = unwritten.filter { !isForgotten($0.value) }
    }

    mutating func takeUnwritten() -> [Key: Value] {
        defer { unwritten = [:] }
        return unwritten
    }
}
