import Cipher
import Core

/// A cache of values read recently. If `Value` is optional, it also stores that a value is missing.
struct ReadCache<Key: Hashable & Sendable, Value: Sendable>: Concealed {
    private var values: BoundedCache<Key, Value>
    /// The number of times that changed values were removed.
    private(set) var generation: UInt64 = 0

    init(capacity: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        values = BoundedCache(capacity: capacity, cost: cost)
    }

    var count: Int { values.count }

    mutating func value(of key: Key) -> Value? { values.value(of: key) }

    /// Stores a value that was read, unless a change since `generation` may have made it outdated.
    mutating func remember(_ value: Value, of key: Key, readIn generation: UInt64) {
        if generation == self.generation { values.set(value, for: key) }
    }

    mutating func forget(_ keys: some Collection<Key>) {
        guard !keys.isEmpty else { return }
        generation &+= 1
        for key in keys { values.remove(key) }
    }

    mutating func forgetAll() {
        generation &+= 1
        values.removeAll()
    }
}
