/// What is known of each push service's origin: the token in use there, and whether it ever took a message of ours.
///
/// Push services refuse a token that is good for more than a day, and Apple one that changes more than once an hour: so
/// one is good for twelve hours and replaced after eleven. Users choose the origins, so only so many are kept.
struct VAPIDOrigins: Sendable {
    private struct Entry {
        var authorization: String
        /// In milliseconds since 1970.
        var issuedAt: Int64
        var isProven = false
    }

    static let lifetime: Int64 = 12 * 3_600_000
    static let longestUse: Int64 = 11 * 3_600_000
    static let capacity = 512

    private let token: VAPIDToken
    private var entries: [String: Entry] = [:]

    init(_ token: VAPIDToken) {
        self.token = token
    }

    /// The value of `Authorization` at `now`, in milliseconds since 1970. Throws only when signing fails.
    mutating func authorization(for origin: String, now: Int64) throws -> String {
        let known = entries[origin]
        // A clock set back by more than that would leave a token behind that is good for too long.
        if let known, (-Self.longestUse..<Self.longestUse).contains(now - known.issuedAt) {
            return known.authorization
        }
        let authorization = try token.authorization(for: origin, expiry: (now + Self.lifetime) / 1000)
        if known == nil {
            makeRoom()
        }
        entries[origin] = Entry(
            authorization: authorization,
            issuedAt: now,
            isProven: known?.isProven ?? false
        )
        return authorization
    }

    /// The origin took a message.
    mutating func prove(_ origin: String) {
        entries[origin]?.isProven = true
    }

    /// Whether the origin took a message, so that the key is the one browsers were given.
    func isProven(_ origin: String) -> Bool {
        entries[origin]?.isProven ?? false
    }

    private mutating func makeRoom() {
        guard entries.count >= Self.capacity else { return }
        if let oldest = entries.min(by: { $0.value.issuedAt < $1.value.issuedAt }) {
            entries[oldest.key] = nil
        }
    }
}
