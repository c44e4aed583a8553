import Nostr

/// The keys an account receives messages under, as its lists come and go.
struct MessageKeyRing {
    /// A former key counts that long after the list that left it out was made: messages to it may be under way.
    static let grace: Int64 = 7 * 86_400_000
    /// How many keys of a list are taken, and how many former ones count.
    static let limit = 8

    private(set) var keys: [MessageKey]

    init(_ keys: [MessageKey]) {
        self.keys = keys
    }

    /// Takes the keys of a newer list, made at `time`; times are in milliseconds since 1970.
    mutating func replace(with listed: [PublicKey], at time: Int64, now: Int64) {
        var current: [PublicKey] = []
        for key in listed where current.count < Self.limit && !current.contains(key) { current.append(key) }
        let former = keys.filter { !current.contains($0.key) }
            .map { MessageKey(key: $0.key, until: min($0.until ?? .max, time + Self.grace)) }
            .filter { $0.until ?? 0 > now }
            .sorted { ($0.until ?? 0, $0.key.bytes) > ($1.until ?? 0, $1.key.bytes) }
        keys = current.map { MessageKey(key: $0) } + former.prefix(Self.limit)
    }
}
