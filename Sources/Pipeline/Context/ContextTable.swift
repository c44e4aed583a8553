import Caching

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
