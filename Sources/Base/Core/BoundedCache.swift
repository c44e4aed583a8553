/// A bounded cache in two generations: when the younger is full, the older is dropped. It keeps at least the latest
/// half of its capacity. A value that is looked up moves to the younger generation.
///
/// With `Void` as its value it is a bounded set.
public struct BoundedCache<Key: Hashable, Value> {
    @usableFromInline let half: Int
    @usableFromInline let cost: @Sendable (Value) -> Int
    @usableFromInline var younger: [Key: Value] = [:]
    @usableFromInline var older: [Key: Value] = [:]
    /// The total cost of the younger generation.
    @usableFromInline var held = 0

    /// `capacity` limits the number of values, or their total cost. The latest value is kept regardless of its cost.
    @inlinable
    public init(capacity: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        half = max(1, capacity / 2)
        self.cost = cost
    }

    /// The current number of values.
    @inlinable public var count: Int { younger.count + older.count }

    /// Whether `key` has a value. Does not renew it.
    @inlinable
    public func contains(_ key: Key) -> Bool { younger[key] != nil || older[key] != nil }

    /// Returns the value of `key` without renewing it.
    @inlinable
    public func peek(_ key: Key) -> Value? { younger[key] ?? older[key] }

    /// Returns the value of `key` and renews it.
    @inlinable
    public mutating func value(of key: Key) -> Value? {
        if let value = younger[key] { return value }
        guard let value = older.removeValue(forKey: key) else { return nil }
        insert(value, for: key)
        return value
    }

    /// Returns the value of `key`, or stores and returns the value that `make` returns.
    @inlinable
    public mutating func value(of key: Key, orSet make: () throws -> Value) rethrows -> Value {
        if let value = value(of: key) { return value }
        let value = try make()
        // The key is in neither generation.
        insert(value, for: key)
        return value
    }

    /// Stores `value`, and drops the older generation if the capacity is exceeded.
    @inlinable
    public mutating func set(_ value: Value, for key: Key) {
        older[key] = nil
        insert(value, for: key)
    }

    @inlinable
    mutating func insert(_ value: Value, for key: Key) {
        let cost = cost(value)
        held += cost
        if let former = younger.updateValue(value, forKey: key) { held -= self.cost(former) }
        guard held > half, held > cost else { return }
        younger[key] = nil
        swap(&younger, &older)
        // Keep the capacity: growing again would hash all keys twice.
        younger.removeAll(keepingCapacity: true)
        younger[key] = value
        held = cost
    }

    @inlinable
    public mutating func remove(_ key: Key) {
        if let former = younger.removeValue(forKey: key) { held -= cost(former) }
        older[key] = nil
    }

    /// Removes all values for which `isRemoved` returns true.
    @inlinable
    public mutating func remove(where isRemoved: (Key, Value) -> Bool) {
        younger = younger.filter { !isRemoved($0.key, $0.value) }
        older = older.filter { !isRemoved($0.key, $0.value) }
        held = younger.values.reduce(0) { $0 + cost($1) }
    }

    @inlinable
    public mutating func removeAll() {
        younger = [:]
        older = [:]
        held = 0
    }
}

extension BoundedCache: Sendable where Key: Sendable, Value: Sendable {}

extension BoundedCache where Value == Void {
    /// Stores `key`, and drops the older generation if the capacity is exceeded.
    @inlinable
    public mutating func insert(_ key: Key) { set((), for: key) }
}
