/// A bounded cache in two generations: when the younger is full, the older is forgotten. It holds at least the latest
/// half of its capacity. A value that is looked up moves to the younger generation and so stays.
///
/// With `Void` as its value it is a bounded set.
public struct BoundedCache<Key: Hashable, Value> {
    @usableFromInline let half: Int
    @usableFromInline let cost: @Sendable (Value) -> Int
    @usableFromInline var younger: [Key: Value] = [:]
    @usableFromInline var older: [Key: Value] = [:]
    /// The cost of the younger generation.
    @usableFromInline var held = 0

    /// `capacity` bounds how many values are kept, or what they cost together. The latest value is kept whatever it
    /// costs.
    @inlinable
    public init(capacity: Int, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
        half = max(1, capacity / 2)
        self.cost = cost
    }

    /// How many values are kept now.
    @inlinable public var count: Int { younger.count + older.count }

    /// Whether `key` has a value. This does not make it stay.
    @inlinable
    public func contains(_ key: Key) -> Bool { younger[key] != nil || older[key] != nil }

    /// The value of `key`. This does not make it stay.
    @inlinable
    public func peek(_ key: Key) -> Value? { younger[key] ?? older[key] }

    /// The value of `key`, which stays for longer thereby.
    @inlinable
    public mutating func value(of key: Key) -> Value? {
        if let value = younger[key] { return value }
        guard let value = older.removeValue(forKey: key) else { return nil }
        insert(value, for: key)
        return value
    }

    /// The value of `key`, or, where there is none, what `make` makes, which is kept then.
    @inlinable
    public mutating func value(of key: Key, orSet make: () throws -> Value) rethrows -> Value {
        if let value = value(of: key) { return value }
        let value = try make()
        // It is in neither generation.
        insert(value, for: key)
        return value
    }

    /// Keeps `value`, and forgets the older generation if there is no room.
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
        // A cache that is full stays so: growing anew would hash everything twice.
        younger.removeAll(keepingCapacity: true)
        younger[key] = value
        held = cost
    }

    /// Removes the value of `key`.
    @inlinable
    public mutating func remove(_ key: Key) {
        if let former = younger.removeValue(forKey: key) { held -= cost(former) }
        older[key] = nil
    }

    /// Removes all values that `isRemoved` says yes to.
    @inlinable
    public mutating func remove(where isRemoved: (Key, Value) -> Bool) {
        younger = younger.filter { !isRemoved($0.key, $0.value) }
        older = older.filter { !isRemoved($0.key, $0.value) }
        held = younger.values.reduce(0) { $0 + cost($1) }
    }

    /// Removes all values.
    @inlinable
    public mutating func removeAll() {
        younger = [:]
        older = [:]
        held = 0
    }
}

extension BoundedCache: Sendable where Key: Sendable, Value: Sendable {}

extension BoundedCache where Value == Void {
    /// Keeps `key`, and forgets the older generation if there is no room.
    @inlinable
    public mutating func insert(_ key: Key) { set((), for: key) }
}
