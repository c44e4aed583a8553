/// What is known of each push service's origin and each of our keys: the token in use there, and whether it ever took a
/// message signed so.
///
/// Push services refuse a token that is good for more than a day, and Apple one that changes more than once an hour: so
/// one is good for twelve hours and replaced after eleven. Users choose the origins, so only so many are kept; those of the
/// big services, which busy routers send to, stay.
struct VAPIDOrigins: Sendable {
    private struct Key: Hashable {
        let origin: String
        let token: Int
    }

    private struct Entry {
        var authorization: String
        /// In milliseconds since 1970.
        var issuedAt: Int64
        var usedAt: Int64
        var isProven = false
    }

    static let lifetime: Int64 = 12 * 3_600_000
    static let longestUse: Int64 = 11 * 3_600_000
    /// No token is replaced sooner, even if it is refused.
    static let shortestUse: Int64 = 3_600_000
    static let capacity = 512

    private let tokens: [VAPIDToken]
    private var entries: [Key: Entry] = [:]
    private var isProvenSomewhere: [Bool]

    init(_ tokens: [VAPIDToken]) {
        self.tokens = tokens
        isProvenSomewhere = Array(repeating: false, count: tokens.count)
    }

    /// The value of `Authorization` at `now`, in milliseconds since 1970, signed with the key of that index. Throws only
    /// when signing fails.
    mutating func authorization(for origin: String, token: Int = 0, now: Int64) throws -> String {
        let key = Key(origin: origin, token: token)
        // A clock set back by more than that would leave a token behind that is good for too long.
        if let known = entries[key], (-Self.longestUse..<Self.longestUse).contains(now - known.issuedAt) {
            entries[key]?.usedAt = now
            return known.authorization
        }
        return try issue(key, now: now)
    }

    /// Replaces a token that was refused, if it is in use and old enough; false when the refusal stands.
    mutating func renew(_ origin: String, token: Int, refused authorization: String, now: Int64) throws -> Bool {
        let key = Key(origin: origin, token: token)
        guard let known = entries[key] else { return false }
        // Another message's refusal was faster.
        guard known.authorization == authorization else { return true }
        guard abs(now - known.issuedAt) >= Self.shortestUse else { return false }
        _ = try issue(key, now: now)
        return true
    }

    /// The origin took a message.
    mutating func prove(_ origin: String, token: Int = 0) {
        entries[Key(origin: origin, token: token)]?.isProven = true
        isProvenSomewhere[token] = true
    }

    /// Whether the origin took a message, so that the key is one that apps subscribed with.
    func isProven(_ origin: String, token: Int = 0) -> Bool {
        entries[Key(origin: origin, token: token)]?.isProven ?? false
    }

    /// Whether any origin took a message that was signed with that key.
    func isProven(token: Int) -> Bool { isProvenSomewhere[token] }

    private mutating func issue(_ key: Key, now: Int64) throws -> String {
        let authorization = try tokens[key.token].authorization(
            for: key.origin,
            expiry: (now + Self.lifetime) / 1000
        )
        let known = entries[key]
        if known == nil {
            makeRoom()
        }
        entries[key] = Entry(
            authorization: authorization,
            issuedAt: now,
            usedAt: now,
            isProven: known?.isProven ?? false
        )
        return authorization
    }

    private mutating func makeRoom() {
        guard entries.count >= Self.capacity else { return }
        let candidates = entries.lazy.filter { !PushService.isBusy($0.key.origin) }
        if let idlest = candidates.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            entries[idlest.key] = nil
        }
    }
}
