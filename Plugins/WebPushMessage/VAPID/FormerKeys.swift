/// Which key subscriptions turned out to know whose registrations do not name it.
struct FormerKeys: Sendable {
    static let capacity = 8192

    /// By hashes of endpoints: one that meets another's is tried with the wrong key first, and no more.
    private var tokens: [Int: Int] = [:]

    /// Nil for the current one.
    func token(for url: String) -> Int? {
        tokens[url.hashValue]
    }

    mutating func note(_ token: Int, for url: String) {
        let hash = url.hashValue
        guard token != 0 else {
            tokens[hash] = nil
            return
        }
        if tokens.count >= Self.capacity, tokens[hash] == nil {
            // They are learned again one by one.
            tokens.removeAll(keepingCapacity: true)
        }
        tokens[hash] = token
    }
}
