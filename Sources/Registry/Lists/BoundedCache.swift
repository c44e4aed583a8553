import Cipher

/// The values that were asked for lately, bounded by what they cost. Knows of what nothing is there, too, if `Value` is
/// optional.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Concealed {
    private let halfCapacity: Int
    private let cost: @Sendable (Value) -> Int
    private var younger: [Key: Value] = [:]
    private var older: [Key: Value] = [:]
    /// The cost of the younger half.
    private var held = 0
    /// Counts how often something was forgotten because it changed.
    private(set) var generation: UInt64 = 0

    init(capacity: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        halfCapacity = max(1, capacity / 2)
        self.cost = cost
    }

    var count: Int { younger.count + older.count }

    mutating func value(of key: Key) -> Value? {
        if let value = younger[key] { return value }
        guard let value = older.removeValue(forKey: key) else { return nil }
        insert(value, of: key)
        return value
    }

    /// Takes what was read, unless something changed since that `generation`: then the value may be outdated already.
    mutating func remember(_ value: Value, of key: Key, readIn generation: UInt64) {
        guard generation == self.generation else { return }
        older[key] = nil
        insert(value, of: key)
    }

    private mutating func insert(_ value: Value, of key: Key) {
        if held >= halfCapacity {
            older = younger
            younger = [:]
            held = 0
            older[key] = nil
        }
        held += cost(value)
        if let former = younger.updateValue(value, forKey: key) { held -= cost(former) }
    }

    mutating func forget(_ keys: some Collection<Key>) {
        guard !keys.isEmpty else { return }
        generation &+= 1
        for key in keys {
            if let former = younger.removeValue(forKey: key) { held -= cost(former) }
            older[key] = nil
        }
    }

    mutating func forgetAll() {
        generation &+= 1
        younger = [:]
        older = [:]
        held = 0
    }
}
