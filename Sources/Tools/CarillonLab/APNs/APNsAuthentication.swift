import Cipher

/// Authenticates the requests of one connection: by the client's certificate if there is one, otherwise by the provider
/// token of each request.
struct APNsAuthentication {
    let environment: APNsEnvironment
    private var providerTokens = ProviderTokenCheck()

    init(_ environment: APNsEnvironment) {
        self.environment = environment
    }

    /// `now` in milliseconds since 1970.
    mutating func check(
        _ request: LabRequest,
        _ certificate: ProviderCertificate?,
        keys: [ProviderKey],
        now: Int64
    ) throws(APNsError) -> APNsSender {
        if let certificate {
            try certificate.check(in: environment)
            return .certificate(certificate)
        }
        let authorization = request.header("authorization")
        return .key(try providerTokens.check(authorization, keys: keys, in: environment, now: now))
    }
}

/// The authenticated sender of a request.
enum APNsSender {
    case key(ProviderKey)
    case certificate(ProviderCertificate)

    /// Throws unless it may send for the topic, and the topic fits the push type, if there is one.
    func check(_ headers: APNsHeaders) throws(APNsError) {
        let pushTypes = headers.pushType.map { [$0] } ?? APNsPushType.allCases
        if pushTypes.contains(where: { topics(of: $0).contains(headers.topic) }) { return }
        guard APNsPushType.allCases.contains(where: { topics(of: $0).contains(headers.topic) }),
            let pushType = headers.pushType
        else { throw APNsError(.topicDisallowed, "the key or certificate may not send for this apns-topic") }
        throw APNsError(
            .badTopic,
            "for push type \(pushType.rawValue), the topic is the bundle id followed by \"\(pushType.topicSuffix)\""
        )
    }

    /// Throws unless it may send for the bundle id.
    func check(bundleID: String) throws(APNsError) {
        guard topics(of: .alert).contains(bundleID) else {
            throw APNsError(.topicMismatch, "the key or certificate is not one of this bundle id")
        }
    }

    private func topics(of pushType: APNsPushType) -> [String] {
        switch self {
        case .key(let key): key.topics.map { $0 + pushType.topicSuffix }
        case .certificate(let certificate):
            pushType.takesCertificates
                ? certificate.topics.filter { APNsPushType.suffix(of: $0) == pushType.topicSuffix } : []
        }
    }
}

/// A provider's key.
struct ProviderKey: Sendable {
    var keyID: String
    var teamID: String
    var publicKey: P256PublicKey
    /// The bundle ids that it may send for.
    var topics: Set<String>
    /// The environments that it may send to.
    var environments: Set<APNsEnvironment>
}

/// Checks the provider tokens of one connection.
///
/// APNs wants tokens no older than an hour that change at most every 20 minutes, and one team and key for each
/// connection. The first push fixes a connection's bundle ids: topics that the key gets later need a new connection.
struct ProviderTokenCheck {
    private struct Header: Decodable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable {
        var iss: String
        var iat: Int64
    }

    private struct Accepted {
        var text: String
        var key: ProviderKey
        var issuedAt: Int64
        /// When this connection first had it, in milliseconds.
        var firstSeen: Int64
    }

    static let lifetimeSeconds: Int64 = 3_600
    static let minimumChangeMilliseconds: Int64 = 20 * 60 * 1_000

    private var accepted: Accepted?
    private var hasExpired = false

    /// Returns the key of a request's `authorization`. `now` is in milliseconds since 1970.
    mutating func check(
        _ authorization: String?,
        keys: [ProviderKey],
        in environment: APNsEnvironment,
        now: Int64
    ) throws(APNsError) -> ProviderKey {
        guard let authorization else {
            throw APNsError(.missingProviderToken, "there is no authorization header")
        }
        // A connection with an expired token stays refused: APNs wants a new token on a new connection.
        guard !hasExpired else {
            throw APNsError(.expiredProviderToken, "the token of this connection has expired: open another one")
        }
        let accepted: Accepted
        if let known = self.accepted, known.text == authorization {
            accepted = known
        } else {
            accepted = try verified(authorization, keys, environment, now: now)
        }
        guard accepted.issuedAt + Self.lifetimeSeconds > now / 1_000 else {
            hasExpired = true
            throw APNsError(.expiredProviderToken, "the token was issued more than an hour ago")
        }
        self.accepted = accepted
        return accepted.key
    }

    private func verified(
        _ authorization: String,
        _ keys: [ProviderKey],
        _ environment: APNsEnvironment,
        now: Int64
    ) throws(APNsError) -> Accepted {
        let words = authorization.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw APNsError(.invalidProviderToken, "authorization is not \"bearer\", a blank and a token")
        }
        guard let token = JSONWebToken<Header, Claims>(reading: words[1]) else {
            throw APNsError(
                .invalidProviderToken,
                "the token is not a JWT with alg and kid, iss and iat (a whole number)"
            )
        }
        guard token.header.alg == "ES256" else {
            throw APNsError(.invalidProviderToken, "the token's alg is not ES256")
        }
        guard let key = keys.first(where: { $0.keyID == token.header.kid }) else {
            throw APNsError(.invalidProviderToken, "the token's kid is not a key id that the lab knows")
        }
        guard key.teamID == token.claims.iss else {
            throw APNsError(.invalidProviderToken, "the token's iss is not the team of this key")
        }
        guard token.signature.count == 64, key.publicKey.isValidES256(token.signature, for: token.signed) else {
            throw APNsError(.invalidProviderToken, "the token's signature does not hold")
        }
        guard token.claims.iat <= now / 1_000 else {
            throw APNsError(.invalidProviderToken, "the token's iat is in the future")
        }
        guard key.environments.contains(environment) else {
            throw APNsError(.badEnvironmentKeyIDInToken, "the key is not for \(environment.rawValue)")
        }
        if let accepted {
            guard accepted.key.keyID == key.keyID, accepted.key.teamID == key.teamID else {
                throw APNsError(.unrelatedKeyIDInToken, "this connection belongs to another key")
            }
            guard now - accepted.firstSeen >= Self.minimumChangeMilliseconds else {
                throw APNsError(
                    .tooManyProviderTokenUpdates,
                    "this connection got another token less than 20 minutes ago"
                )
            }
        }
        return Accepted(text: authorization, key: accepted?.key ?? key, issuedAt: token.claims.iat, firstSeen: now)
    }
}

/// An operator's credentials from Apple: a key, its id, the team and the app's bundle id.
public struct LabCredentials: Sendable, Hashable {
    /// PKCS#8, the content of an `AuthKey_….p8`.
    public var keyPEM: String
    /// The key that verifies provider tokens, a block `PUBLIC KEY`. It does not follow changes of `keyPEM`.
    public var publicKeyPEM: String
    /// 10 characters.
    public var keyID: String
    /// 10 characters.
    public var teamID: String
    /// The app's bundle id.
    public var topic: String
    /// The key's environments. In others it gets 403 `BadEnvironmentKeyIdInToken`.
    public var environments = Set(APNsEnvironment.allCases)

    /// Makes a new key.
    public init(keyID: String = "LABKEY0001", teamID: String = "LABTEAM001", topic: String = "com.example.app") {
        let key = P256PrivateKey()
        keyPEM = key.pemRepresentation
        publicKeyPEM = key.publicKey.pemRepresentation
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    /// Takes an existing key. Throws `LabError` if it is not a P-256 key in PEM.
    public init(keyPEM: String, keyID: String, teamID: String, topic: String) throws {
        guard let key = try? P256PrivateKey(pem: keyPEM) else {
            throw LabError.invalid("The APNs key is not a private key on P-256 in PEM (PKCS#8).")
        }
        self.keyPEM = key.pemRepresentation
        publicKeyPEM = key.publicKey.pemRepresentation
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    func providerKey(topics: Set<String>) throws -> ProviderKey {
        guard let publicKey = try? P256PublicKey(pem: publicKeyPEM) else {
            throw LabError.invalid("The public APNs key of \(keyID) is not a key on P-256 in PEM.")
        }
        return ProviderKey(
            keyID: keyID,
            teamID: teamID,
            publicKey: publicKey,
            topics: topics.union([topic]),
            environments: environments
        )
    }
}

extension LabCredentials: CustomStringConvertible {
    /// Without the key.
    public var description: String { "LabCredentials(keyID: \(keyID), teamID: \(teamID), topic: \(topic))" }
}
