import Nostr

/// What is open at a relay or was asked for, with the lengths of the REQs.
struct OpenSubscriptions: Sendable {
    struct Entry: Sendable {
        var use: SubscriptionUse
        /// The length of its REQ.
        let bytes: Int
        /// REQs are numbered in the order in which they are sent.
        let number: UInt64
    }

    private var entries: [SubscriptionID: Entry] = [:]
    /// The length of all REQs together.
    private(set) var bytes = 0

    var count: Int { entries.count }

    subscript(id: SubscriptionID) -> Entry? { entries[id] }

    /// Adds a subscription; what was open under its id is replaced by it.
    mutating func open(_ id: SubscriptionID, _ entry: Entry) {
        remove(id)
        entries[id] = entry
        bytes += entry.bytes
    }

    @discardableResult
    mutating func remove(_ id: SubscriptionID) -> Entry? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        bytes -= entry.bytes
        return entry
    }

    mutating func reuse(_ id: SubscriptionID, as use: SubscriptionUse) { entries[id]?.use = use }

    /// What was asked for before the REQ of that number.
    func before(_ number: UInt64) -> (count: Int, bytes: Int) {
        entries.values.reduce(into: (count: 0, bytes: 0)) { sum, entry in
            guard entry.number < number else { return }
            sum.count += 1
            sum.bytes += entry.bytes
        }
    }

    mutating func removeAll() { self = OpenSubscriptions() }
}
