import RelayPool

/// Reads relays' URLs, and remembers what it read: many users name the same few.
struct RelayReader {
    private var known: [String: RelayURL?] = [:]

    mutating func read(_ text: String) -> RelayURL? {
        if let relay = known[text] { return relay }
        let relay = RelayURL(text)
        if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
        known[text] = .some(relay)
        return relay
    }

    private static let limit = 65_536
}
