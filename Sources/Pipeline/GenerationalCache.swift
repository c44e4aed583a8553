/// A bounded cache: two generations, of which the older is forgotten when the younger is full. What is asked for moves
/// to the younger one and so stays.
struct GenerationalCache<Key: Hashable, Value> {
    private let capacity: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    mutating func value(for key: Key) -> Value? {
        if let value = young[key] { return value }
        guard let value = old[key] else { return nil }
        insert(value, for: key)
        return value
    }

    func contains(_ key: Key) -> Bool { young[key] != nil || old[key] != nil }

    /// Removes what `isRemoved` says yes to.
    mutating func remove(where isRemoved: (Key, Value) -> Bool) {
        young = young.filter { !isRemoved($0.key, $0.value) }
        old = old.filter { !isRemoved($0.key, $0.value) }
    }

    mutating func insert(_ value: Value, for key: Key) {
        if young.count >= capacity, young[key] == nil {
            old = young
            young = [:]
        }
        young[key] = value
    }
}

/// A bounded memory of what was seen: two generations, of which the older is forgotten when the younger is full. Holds
/// between `capacity` and twice that of the most recent members, at the cost of one insertion each.
struct GenerationalSet<Member: Hashable> {
    private let capacity: Int
    private var young: Set<Member> = []
    private var old: Set<Member> = []

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    func contains(_ member: Member) -> Bool {
        young.contains(member) || old.contains(member)
    }

    mutating func insert(_ member: Member) {
        if young.count >= capacity {
            old = young
            young = []
        }
        young.insert(member)
    }

    mutating func removeAll() {
        young = []
        old = []
    }
}
