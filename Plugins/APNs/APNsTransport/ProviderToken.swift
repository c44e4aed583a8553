import Cipher
import PluginKit
import Units

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
