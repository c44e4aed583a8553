import Cipher

/// The access tokens that are good, and for which service account.
struct AccessTokens {
    private struct Granted {
        var account: FCMServiceAccount.Key
        /// Milliseconds since 1970.
        var expiresAt: Int64
    }

    /// More than a test needs, and few enough for a lab that runs for weeks.
    private static let limit = 10_000

    private var granted: [String: Granted] = [:]

    /// A new one; `lifetime` in milliseconds.
    mutating func grant(to account: FCMServiceAccount.Key, lifetime: Int64, now: Int64, random: RandomBytes) -> String {
        granted = granted.filter { $0.value.expiresAt > now }
        if granted.count >= Self.limit {
            granted.removeAll()
        }
        let token = "ya29.c.lab-" + Base64URL.encode(random(96))
        granted[token] = Granted(account: account, expiresAt: now + lifetime)
        return token
    }

    /// Whose token that is; nil where it is unknown or over.
    func account(of token: String, now: Int64) -> FCMServiceAccount.Key? {
        guard let found = granted[token], found.expiresAt > now else { return nil }
        return found.account
    }

    mutating func revokeAll() {
        granted.removeAll()
    }
}
