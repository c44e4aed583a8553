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
