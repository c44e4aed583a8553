import Cipher
import PluginKit

/// The one JSON Web Token that all requests of a key share (Apple, "Establishing a token-based connection to APNs").
///
/// Apple refuses a token older than an hour, and a new one more often than every 20 minutes: so one is used for 50
/// minutes, and one that Apple calls expired is only replaced when it is 20 minutes old.
struct ProviderToken: Sendable {
    /// A token in use.
    struct Issued: Sendable, Hashable {
        /// `bearer …`: the value of `authorization`.
        let authorization: String
        /// Counts the tokens: tells an answer to an old one from an answer to this one.
        let generation: Int
    }

    /// What follows from Apple's calling a token expired.
    enum Recovery: Sendable, Hashable {
        /// The next request carries a new token.
        case renewed
        /// The token is younger than Apple lets us renew it: the clocks disagree, and a human has to look.
        case clocksDisagree
    }

    static let longestUse: Int64 = 50 * 60_000
    static let shortestUse: Int64 = 20 * 60_000

    private let header: String
    private let teamID: String
    private let key: P256PrivateKey
    private var current: (issued: Issued, issuedAt: Int64)?
    private var generation = 0

    init(teamID: String, keyID: String, key: P256PrivateKey) {
        header = Base64URL.encode([UInt8](#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
        self.teamID = teamID
        self.key = key
    }

    /// The token to use at `now`, in milliseconds since 1970. Throws only when signing fails.
    mutating func token(now: Int64) throws -> Issued {
        // A clock set back by more than this leaves a token from the future behind, which Apple refuses as well.
        if let current, (-ProviderToken.shortestUse..<ProviderToken.longestUse).contains(now - current.issuedAt) {
            return current.issued
        }
        let claims = Base64URL.encode([UInt8](#"{"iss":"\#(teamID)","iat":\#(now / 1000)}"#.utf8))
        let signature = try key.signES256([UInt8]("\(header).\(claims)".utf8))
        generation += 1
        let issued = Issued(
            authorization: "bearer \(header).\(claims).\(Base64URL.encode(signature))",
            generation: generation
        )
        current = (issued, now)
        return issued
    }

    /// Apple called the token of that generation expired.
    mutating func refuse(generation: Int, now: Int64) -> Recovery {
        guard let current, current.issued.generation == generation else { return .renewed }
        guard now - current.issuedAt >= ProviderToken.shortestUse else { return .clocksDisagree }
        self.current = nil
        return .renewed
    }
}
