/// A bounded table of what was seen lately: two halves, of which the older is forgotten when the younger is full. Holds
/// between half its capacity and all of it; what is asked for stays.
public struct RecentKeys<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let half: Int
    private var younger: [Key: Value] = [:]
    private var older: [Key: Value] = [:]

    /// An empty table; a `capacity` under 2 counts as 2.
    public init(capacity: Int) {
        half = max(1, capacity / 2)
    }

    /// How many keys are remembered now.
    public var count: Int { younger.count + older.count }

    /// The value of a key that is remembered, which makes it one of the younger; else nil.
    public mutating func value(of key: Key) -> Value? {
        if let value = younger[key] { return value }
        guard let value = older.removeValue(forKey: key) else { return nil }
        set(value, for: key)
        return value
    }

    /// Remembers `key`, and forgets the oldest ones if there is no room.
    public mutating func set(_ value: Value, for key: Key) {
        if younger[key] == nil, younger.count >= half {
            older = younger
            younger = [:]
        }
        older[key] = nil
        younger[key] = value
    }
}
