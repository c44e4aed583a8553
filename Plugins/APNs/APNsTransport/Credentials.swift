import Cipher
import Core
import PluginKit
import Synchronization

/// The sender's credentials: provider tokens that one key signs, or a certificate that connections present.
final class Credentials: Sendable {
    private let certificate: Proof?
    private let token: Mutex<ProviderToken?>
    /// When the certificate expires; the distant future for provider tokens.
    private let expiresAt: Timestamp
    private let reports: SeldomLog<Bool>

    private static let noticeBeforeExpiry: Duration = .days(7)
    private static let quietAfterNotice: Duration = .days(1)

    /// Has connections present the certificate, if there is one. Throws when the host cannot.
    init(_ authentication: Authentication, bundleID: String, host: Host) throws(PluginError) {
        reports = SeldomLog(host, quiet: Credentials.quietAfterNotice)
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

    /// What expires when, as JSON (see `command` in plugin.h). Provider tokens are renewed automatically and do not
    /// count.
    var status: String {
        guard expiresAt < .distantFuture else { return #"{"expires":[]}"# }
        return #"{"expires":[{"what":"client-certificate","at":\#(expiresAt.seconds)}]}"#
    }

    /// The proof to send with at `now`. Nil only when signing fails.
    func proof(now: Timestamp) -> Proof? {
        if let certificate { return certificate }
        return token.withLock { try? $0?.proof(now: now) }
    }

    /// Whether the certificate has expired at `now`. Logs that, and warns before: a router
    /// runs longer than anybody remembers its first log lines.
    func hasExpired(now: Timestamp) -> Bool {
        guard now >= expiresAt - Credentials.noticeBeforeExpiry else { return false }
        let hasExpired = now >= expiresAt
        let date = CivilDate(expiresAt).text
        reports.log(
            hasExpired,
            hasExpired ? .error : .warning,
            now: now,
            hasExpired
                ? "the client certificate for APNs expired on \(date): nothing can be sent until there is a new one"
                : "the client certificate for APNs expires on \(date): renew it before"
        )
        return hasExpired
    }

    /// Handles that Apple called the provider token of `proof` expired. Nil where there is no provider token.
    func refuse(_ proof: Proof, now: Timestamp) -> ProviderToken.Recovery? {
        token.withLock { $0?.refuse(generation: proof.generation, now: now) }
    }

    /// Stops using the connections of `proof`.
    func leaveConnections(of proof: Proof) {
        token.withLock { $0?.leaveConnections(named: proof.connection) }
    }
}

/// Proves to Apple who sends.
///
/// A class, so that a push in flight holds it by one reference.
final class Proof: Sendable {
    /// The value of `authorization` (`bearer …`); nil where the connection presents a certificate.
    let authorization: String?
    /// The name of the connections that may carry it: those of one team, key and app (Apple, "Establishing a
    /// token-based connection to APNs").
    let connection: String
    /// Counts the provider tokens. Distinguishes answers to an old token from answers to the current one.
    let generation: Int

    init(authorization: String?, connection: String, generation: Int) {
        self.authorization = authorization
        self.connection = connection
        self.generation = generation
    }
}

/// Names that keep connections of different credentials apart. The host keeps those of different apps apart.
enum ConnectionWord {
    /// The host accepts 128 bytes. The rest of a topic distinguishes nothing, since an app has one bundle id.
    private static let longestTopic = 72

    /// For all requests with provider tokens of a key. `generation` grows when those connections must be abandoned.
    static func token(teamID: String, keyID: String, bundleID: String, generation: Int) -> String {
        "\(teamID).\(keyID).\(bundleID.prefix(longestTopic)).\(generation)"
    }

    /// For all requests with a certificate.
    static func certificate(fingerprint: [UInt8], bundleID: String) -> String {
        "certificate.\(Hex.encode(fingerprint.prefix(8))).\(bundleID.prefix(longestTopic))"
    }
}

/// The JSON Web Token that all requests of a key share (Apple, "Establishing a token-based connection to APNs").
///
/// Apple refuses tokens older than an hour, and new ones more often than every 20 minutes. So a token is used for 50
/// minutes, and one that Apple calls expired is replaced only when it is 20 minutes old. A connection on which a token
/// expired refuses the next token as well, so that token uses new connections. A token that is replaced in time keeps
/// the connections.
struct ProviderToken: Sendable {
    /// What to do after Apple called a token expired.
    enum Recovery: Sendable, Hashable {
        /// The next request carries a new token, on a new connection.
        case renewed
        /// The token is too young to be replaced. The clocks disagree, and a human has to look.
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

    /// The token in use at `now`; nil when a new one is due.
    func current(now: Timestamp) -> Proof? {
        // A clock set back further leaves a token from the future, which Apple refuses as well.
        guard let issued, (.zero - ProviderToken.shortestUse..<ProviderToken.longestUse).contains(now - issued.at)
        else {
            return nil
        }
        return issued.proof
    }

    /// The token to use at `now`. Throws only when signing fails.
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

    /// Handles that Apple called the token of a generation expired.
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
