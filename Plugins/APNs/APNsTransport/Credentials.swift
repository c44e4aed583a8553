import Cipher
import Core
import PluginKit
import Synchronization

/// The sender's credentials: provider tokens signed with a key, or a TLS client certificate.
final class Credentials: Sendable {
    private let certificate: Proof?
    private let token: Mutex<ProviderToken?>
    /// When the certificate expires; the distant future for provider tokens.
    private let expiresAt: Timestamp
    private let reports: RateLimitedLog<Bool>

    private static let noticeBeforeExpiry: Duration = .days(7)
    private static let quietAfterNotice: Duration = .days(1)

    /// Makes connections use the certificate, if there is one. Throws if the host cannot.
    init(_ authentication: Authentication, bundleID: String, host: Host) throws(PluginError) {
        reports = RateLimitedLog(host, quiet: Credentials.quietAfterNotice)
        switch authentication {
        case .token(let teamID, let keyID, let key):
            certificate = nil
            token = Mutex(ProviderToken(teamID: teamID, keyID: keyID, bundleID: bundleID, key: key))
            expiresAt = .distantFuture
        case .certificate(let identity):
            let word = ConnectionWord.certificate(fingerprint: identity.certificate.fingerprint, bundleID: bundleID)
            certificate = Proof(authorization: nil, connection: word, generation: 0)
            token = Mutex(nil)
            expiresAt = Timestamp(seconds: identity.certificate.notAfter)
            do throws(PluginError) {
                try host.present(certificates: identity.certificatesPEM, key: identity.keyPEM, onConnection: word)
            } catch {
                throw PluginError("certificate_file: \(error.description)")
            }
        }
    }

    /// The expiry dates, as JSON (see `command` in plugin.h). Provider tokens are renewed automatically and are
    /// omitted.
    var status: String {
        guard expiresAt < .distantFuture else { return #"{"expires":[]}"# }
        return #"{"expires":[{"what":"client-certificate","at":\#(expiresAt.seconds)}]}"#
    }

    /// Returns the proof to send with at `now`, or nil if signing fails.
    func proof(now: Timestamp) -> Proof? {
        if let certificate { return certificate }
        return token.withLock { try? $0?.proof(now: now) }
    }

    /// Whether the certificate has expired at `now`. Logs the expiry, and warns before it, because a warning at startup
    /// is long forgotten by then.
    func hasExpired(now: Timestamp) -> Bool {
        guard now >= expiresAt - Credentials.noticeBeforeExpiry else { return false }
        let hasExpired = now >= expiresAt
        let date = CivilDate(expiresAt).text
        reports.log(
            hasExpired,
            hasExpired ? .error : .warning,
            now: now,
            hasExpired
                ? "the client certificate for APNs expired on \(date): no push can be sent until you renew it"
                : "the client certificate for APNs expires on \(date): renew it before"
        )
        return hasExpired
    }

    /// Handles Apple's response that the provider token of `proof` expired. Nil if there is no provider token.
    func refuse(_ proof: Proof, now: Timestamp) -> ProviderToken.Recovery? {
        token.withLock { $0?.refuse(generation: proof.generation, now: now) }
    }

    /// Stops using the connections of `proof`.
    func leaveConnections(of proof: Proof) {
        token.withLock { $0?.leaveConnections(named: proof.connection) }
    }
}

/// The authentication of one request to Apple.
///
/// A class, so that a push in flight holds it by one reference.
final class Proof: Sendable {
    /// The value of `authorization` (`bearer …`); nil if the connection uses a certificate.
    let authorization: String?
    /// The group of connections that may carry it: those of one team, key and app (Apple, "Establishing a token-based
    /// connection to APNs").
    let connection: String
    /// The number of the provider token. Distinguishes responses to an old token from responses to the current one.
    let generation: Int

    init(authorization: String?, connection: String, generation: Int) {
        self.authorization = authorization
        self.connection = connection
        self.generation = generation
    }
}

/// Names of connection groups for different credentials. The host separates those of different apps.
enum ConnectionWord {
    /// The maximum bytes of the topic in a name, because the host accepts 128. The rest is not needed: an app has one
    /// bundle id.
    private static let longestTopic = 72

    /// Returns the name for requests with provider tokens of a key. `generation` grows when connections must be
    /// abandoned.
    static func token(teamID: String, keyID: String, bundleID: String, generation: Int) -> String {
        "\(teamID).\(keyID).\(bundleID.prefix(longestTopic)).\(generation)"
    }

    /// Returns the name for requests with a certificate.
    static func certificate(fingerprint: [UInt8], bundleID: String) -> String {
        "certificate.\(Hex.encode(fingerprint.prefix(8))).\(bundleID.prefix(longestTopic))"
    }
}

/// The JSON Web Token that all requests of a key share (Apple, "Establishing a token-based connection to APNs").
///
/// Apple refuses tokens older than an hour, and new ones more often than every 20 minutes. So a token is used for 50
/// minutes, and a token that Apple reports as expired is replaced only after 20 minutes. A connection on which a token
/// expired refuses the next token too, so that token uses new connections. A token replaced in time keeps its
/// connections.
struct ProviderToken: Sendable {
    /// The action after Apple reported a token as expired.
    enum Recovery: Sendable, Hashable {
        /// The next request carries a new token, on a new connection.
        case renewed
        /// The token is too young to be replaced. The clocks disagree, and the operator must check them.
        case clocksDisagree
    }

    static let longestUse: Duration = .minutes(50)
    static let shortestUse: Duration = .minutes(20)

    private let header: String
    private let teamID: String
    private let keyID: String
    private let bundleID: String
    private let key: P256PrivateKey
    private var issued: (proof: Proof, at: Timestamp)?
    private var generation = 0
    private var connections = 0

    init(teamID: String, keyID: String, bundleID: String, key: P256PrivateKey) {
        header = Base64URL.encode([UInt8](#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
        self.teamID = teamID
        self.keyID = keyID
        self.bundleID = bundleID
        self.key = key
    }

    private var connection: String {
        ConnectionWord.token(teamID: teamID, keyID: keyID, bundleID: bundleID, generation: connections)
    }

    /// Returns the token in use at `now`, or nil if a new one is needed.
    func current(now: Timestamp) -> Proof? {
        // If the clock was set back, a token may be from the future, which Apple refuses too.
        guard let issued, (.zero - ProviderToken.shortestUse..<ProviderToken.longestUse).contains(now - issued.at)
        else {
            return nil
        }
        return issued.proof
    }

    /// Returns the token to use at `now`. Throws only if signing fails.
    mutating func proof(now: Timestamp) throws -> Proof {
        if let current = current(now: now) { return current }
        let claims = Base64URL.encode([UInt8](#"{"iss":"\#(teamID)","iat":\#(now.seconds)}"#.utf8))
        let signature = try key.signES256([UInt8]("\(header).\(claims)".utf8))
        generation += 1
        let proof = Proof(
            authorization: "bearer \(header).\(claims).\(Base64URL.encode(signature))",
            connection: connection,
            generation: generation
        )
        issued = (proof, now)
        return proof
    }

    /// Handles Apple's response that the token of a generation expired.
    mutating func refuse(generation: Int, now: Timestamp) -> Recovery {
        guard let issued, issued.proof.generation == generation else { return .renewed }
        guard now - issued.at >= ProviderToken.shortestUse else { return .clocksDisagree }
        self.issued = nil
        connections += 1
        return .renewed
    }

    /// Keeps the token and moves it to new connections, unless it has moved already.
    mutating func leaveConnections(named word: String) {
        guard let (proof, at) = issued, proof.connection == word else { return }
        connections += 1
        let moved = Proof(authorization: proof.authorization, connection: connection, generation: proof.generation)
        issued = (moved, at)
    }
}
