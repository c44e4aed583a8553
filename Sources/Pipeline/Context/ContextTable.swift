/// One kind of what is known, in memory: what was learned, what is not on disk either, what was sought elsewhere in vain,
/// and what the disk has yet to take.
struct ContextTable<Key: Hashable & Sendable, Value: Sendable> {
    /// Milliseconds until something is sought again that nobody had.
    static var patience: Int64 { 600_000 }

    private var memory: GenerationalCache<Key, Value?>
    private var soughtAt: GenerationalCache<Key, Int64>
    private var unwritten: [Key: Value] = [:]

    init(capacity: Int) {
        memory = GenerationalCache(capacity: capacity)
        soughtAt = GenerationalCache(capacity: capacity)
    }

    /// What is known, for which `load` asks the disk the first time.
    mutating func value(for key: Key, load: (Key) -> Value?) -> Value? {
        if let known = memory.value(for: key) { return known }
        let loaded = load(key)
        memory.insert(loaded, for: key)
        return loaded
    }

    /// `isKept` says whether the disk is to have it too.
    mutating func learn(_ value: Value, for key: Key, isKept: Bool = true) {
        memory.insert(value, for: key)
        if isKept { unwritten[key] = value }
    }

    /// Forgets what is known, here and for what the disk has yet to take.
    mutating func forget(_ key: Key) {
        memory.insert(nil, for: key)
        unwritten[key] = nil
    }

    /// Forgets all that `isForgotten` says yes to, as far as it is in memory.
    mutating func forget(where isForgotten: (Value) -> Bool) {
        memory.remove { $1.map(isForgotten) ?? false }
        unwritten = unwritten.filter { !isForgotten($0.value) }
    }

    /// Remembers that everybody was asked for it.
    mutating func noteSought(_ key: Key, at now: Int64) {
        soughtAt.insert(now, for: key)
    }

    mutating func isWorthSeeking(_ key: Key, at now: Int64) -> Bool {
        guard let last = soughtAt.value(for: key) else { return true }
        return now - last >= Self.patience
    }

    mutating func takeUnwritten() -> [Key: Value] {
        defer { unwritten = [:] }
        return unwritten
    }
}
