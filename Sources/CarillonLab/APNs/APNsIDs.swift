/// How often each `apns-id` came, of the latest some 200,000.
struct APNsIDs: Sendable {
    private static let generation = 100_000

    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]

    /// How often it had come before.
    mutating func count(_ id: String) -> Int {
        let before = recent[id] ?? older[id] ?? 0
        recent[id] = before + 1
        if recent.count >= Self.generation {
            older = recent
            recent = [:]
        }
        return before
    }
}
