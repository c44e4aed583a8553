import Cipher
import Core
import Foundation
import JSON
import Nostr
import Rules

/// The stored part of a profile (kind 0).
struct ContextProfile: Sendable, Hashable {
    /// Nil if the profile contains none.
    let name: String?
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64
    var learnedAt: Timestamp
}

/// The stored part of an event that others may refer to.
struct ContextNote: Sendable, Hashable {
    /// The maximum length of a note that is shown, in characters.
    private static let contentLimit = 400
    private static let byteLimit = 3200

    let author: PublicKey
    /// The key that the author claims to speak for, in `root_identity`. Not proven.
    let root: PublicKey?
    let kind: Kind
    /// The start of the content; nil if it must not be shown.
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

/// Reads the author's name from a profile (kind 0).
package enum AuthorName {
    /// Longer names are cut to this number of characters.
    private static let limit = 80
    private static let byteLimit = 640
    /// The fields of a profile that may hold a name, in order of preference.
    private static let fields = ["display_name", "displayName", "name", "username", "handle"]

    /// The first name that is more than white space; nil if there is none.
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

    /// A placeholder for the name of the person behind an event, until their profile is known.
    package static func standIn(for relevance: Relevance) -> String {
        relevance.zap?.isAnonymous == true ? anonymous : standIn(for: relevance.author)
    }

    /// A placeholder for a name: the first eight hex digits of the key. Short strings need no heap allocation.
    package static func standIn(for key: PublicKey) -> String {
        key.bytes.withUnsafeBytes { Hex.encode($0.prefix(4)) } + "..."
    }
}

/// An in-memory table of one kind of context: known entries, keys that are known to be missing on disk, and entries
/// that are not written yet.
struct ContextTable<Key: Hashable & Sendable, Value: Sendable> {
    /// Most entries record that a value is not known; a reference keeps these small.
    private final class Entry: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var memory: BoundedCache<Key, Entry?>
    private var unwritten: [Key: Value] = [:]

    init(capacity: Int) {
        memory = BoundedCache(capacity: 2 * capacity)
    }

    /// The known value. `load` reads it from disk the first time.
    mutating func value(for key: Key, load: (Key) -> Value?) -> Value? {
        memory.value(of: key) { load(key).map(Entry.init) }?.value
    }

    /// `isKept` is whether to write the value to disk too.
    mutating func learn(_ value: Value, for key: Key, isKept: Bool = true) {
        memory.set(Entry(value), for: key)
        if isKept { unwritten[key] = value }
    }

    /// Forgets a value, here and among the unwritten ones.
    mutating func forget(_ key: Key) {
        memory.set(nil, for: key)
        unwritten[key] = nil
    }

    /// Forgets all values in memory for which `isForgotten` returns true.
    mutating func forget(where isForgotten: (Value) -> Bool) {
        memory.remove { $1.map { isForgotten($0.value) } ?? false }
        unwritten = unwritten.filter { !isForgotten($0.value) }
    }

    mutating func takeUnwritten() -> [Key: Value] {
        defer { unwritten = [:] }
        return unwritten
    }
}
