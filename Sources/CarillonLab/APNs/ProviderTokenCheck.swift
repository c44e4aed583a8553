/// The provider token of one connection, through its changes.
///
/// APNs wants a token no older than an hour that changes no more than once in 20 minutes, and one team and one key on a
/// connection. The first push fixes the bundle ids of a connection: what the key may send for later takes another one.
struct ProviderTokenCheck {
    private struct Accepted {
        var text: String
        var key: ProviderKey
        var issuedAt: Int64
        /// When this connection first saw it, in milliseconds.
        var firstSeen: Int64
    }

    static let lifetimeSeconds: Int64 = 3_600
    static let minimumChangeMilliseconds: Int64 = 20 * 60 * 1_000

    private var accepted: Accepted?
    private var hasExpired = false

    /// The key that a request's `authorization` proves. `now` in milliseconds since 1970.
    mutating func check(
        _ authorization: String?,
        keys: [ProviderKey],
        in environment: APNsEnvironment,
        now: Int64
    ) throws(APNsRefusal) -> ProviderKey {
        guard let authorization else {
            throw APNsRefusal(.missingProviderToken, "there is no authorization header")
        }
        // A connection that once showed an expired token stays refused: APNs wants a new token on a new connection.
        guard !hasExpired else {
            throw APNsRefusal(.expiredProviderToken, "the token of this connection has expired: open another one")
        }
        let accepted: Accepted
        if let known = self.accepted, known.text == authorization {
            accepted = known
        } else {
            accepted = try verified(authorization, keys, environment, now: now)
        }
        guard accepted.issuedAt + Self.lifetimeSeconds > now / 1_000 else {
            hasExpired = true
            throw APNsRefusal(.expiredProviderToken, "the token was issued more than an hour ago")
        }
        self.accepted = accepted
        return accepted.key
    }

    private func verified(
        _ authorization: String,
        _ keys: [ProviderKey],
        _ environment: APNsEnvironment,
        now: Int64
    ) throws(APNsRefusal) -> Accepted {
        let words = authorization.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw APNsRefusal(.invalidProviderToken, "authorization is not \"bearer\", a blank and a token")
        }
        let token = try ProviderToken(reading: words[1])
        guard let key = keys.first(where: { $0.keyID == token.keyID }) else {
            throw APNsRefusal(.invalidProviderToken, "the token's kid is not a key id that the lab knows")
        }
        guard key.teamID == token.teamID else {
            throw APNsRefusal(.invalidProviderToken, "the token's iss is not the team of this key")
        }
        guard token.isSigned(by: key.publicKey) else {
            throw APNsRefusal(.invalidProviderToken, "the token's signature does not hold")
        }
        guard token.issuedAt <= now / 1_000 else {
            throw APNsRefusal(.invalidProviderToken, "the token's iat lies in the future")
        }
        guard key.environments.contains(environment) else {
            throw APNsRefusal(.badEnvironmentKeyIDInToken, "the key is not for \(environment.rawValue)")
        }
        if let accepted {
            guard accepted.key.keyID == key.keyID, accepted.key.teamID == key.teamID else {
                throw APNsRefusal(.unrelatedKeyIDInToken, "this connection belongs to another key")
            }
            guard now - accepted.firstSeen >= Self.minimumChangeMilliseconds else {
                throw APNsRefusal(
                    .tooManyProviderTokenUpdates,
                    "this connection got another token less than 20 minutes ago"
                )
            }
        }
        return Accepted(text: authorization, key: accepted?.key ?? key, issuedAt: token.issuedAt, firstSeen: now)
    }
}
