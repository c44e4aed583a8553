import Cipher
import Console
import Synchronization
import Units

/// Operators who signed in to the console with a token. Lives in memory: a restart signs everybody out.
///
/// The browser has a random word as a cookie, and the router keeps only its hash. A session has no rights of its own:
/// each request looks the token up again, so that a session ends with its token.
package final class BrowserSessions: Sendable {
    /// Only sent with TLS or to this machine, to no other host, and not to scripts.
    static let cookie = "__Host-carillon"
    /// Ended and begun sessions have the same cookie but for this.
    static let attributes = "Path=/; Secure; HttpOnly; SameSite=Strict"

    private let principal: @Sendable (String) -> APIPrincipal?
    private let origin: String?
    private let random: RandomBytes
    private let now: @Sendable () -> Timestamp
    private let table = Mutex(SessionTable())

    /// `principal` tells whose token has a digest. `url` is where clients reach the API; nil: nobody said.
    package init(
        principal: @escaping @Sendable (String) -> APIPrincipal?,
        url: String?,
        random: @escaping RandomBytes = SecureRandom.bytes,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.principal = principal
        origin = url.map { $0.origin }
        self.random = random
        self.now = now
    }

    /// Begins a session. Returns the cookie's value; nil where the token opens nothing.
    func begin(token: String, browser: String) -> (cookie: String, principal: APIPrincipal)? {
        let digest = APIToken.digest(of: token)
        guard let principal = principal(digest), case .agent(let name, _) = principal else { return nil }
        let cookie = Base64URL.encode(random(32))
        let session = SessionTable.Session(
            id: Hex.encode(random(8)),
            name: name,
            tokenDigest: digest,
            browser: browser,
            beganAt: now(),
            usedAt: now()
        )
        table.withLock { $0.begin(session, APIToken.digest(of: cookie)) }
        return (cookie, principal)
    }

    /// Who is signed in; nil: nobody. Throws an ``APIProblem`` for what another site may have had a browser send.
    func principal(of head: APIRequestHead) throws(APIProblem) -> APIPrincipal? {
        guard let cookie = head.cookie(Self.cookie) else { return nil }
        let digest = APIToken.digest(of: cookie)
        guard let session = table.withLock({ $0.use(digest, now: now()) }) else { return nil }
        guard let principal = principal(session.tokenDigest) else {
            table.withLock { $0.end(session.id) }
            return nil
        }
        // What changes something has to come from a page of ours, and a browser says where it comes from.
        guard head.method == "GET" || head.method == "HEAD" || head.isOfSameSite(origin: origin) == true else {
            throw APIProblem(403, Sentence("other-site", [:], "this came from a page of another site"))
        }
        return principal
    }

    /// The session that a cookie stands for; nil where there is none.
    func session(of cookie: String?) -> SessionTable.Session? {
        cookie.flatMap { cookie in table.withLock { $0.session(APIToken.digest(of: cookie), now: now()) } }
    }

    /// Those that are open, the one used last first; of one token alone where `name` says which.
    func list(of name: String?) -> [SessionTable.Session] {
        let all = table.withLock { $0.list(now: now()) }
        return all.filter { (name == nil || $0.name == name) && principal($0.tokenDigest) != nil }
    }

    func end(_ id: String) { table.withLock { $0.end(id) } }
}

/// Which sessions there are. Knows no clock and no tokens.
struct SessionTable {
    struct Session: Equatable {
        /// What the API calls it.
        let id: String
        /// The token's.
        let name: String
        let tokenDigest: String
        /// What the browser calls itself, which may be anything.
        let browser: String
        let beganAt: Timestamp
        var usedAt: Timestamp

        /// Unless it is used before.
        var endsAt: Timestamp { min(usedAt + SessionTable.idle, beganAt + SessionTable.longest) }
    }

    /// How long one lasts that nobody uses.
    static let idle: Duration = .seconds(12 * 3_600)
    /// How long one lasts that is used.
    static let longest: Duration = .seconds(7 * 86_400)
    /// With one more, that ends which was used longest ago.
    static let capacity = 200

    /// By the digests of their cookies.
    private var sessions: [String: Session] = [:]

    mutating func begin(_ session: Session, _ cookieDigest: String) {
        sessions = sessions.filter { $0.value.endsAt > session.beganAt }
        if sessions.count >= Self.capacity, let last = sessions.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            sessions[last.key] = nil
        }
        sessions[cookieDigest] = session
    }

    /// The session of a cookie, whose time begins anew.
    mutating func use(_ cookieDigest: String, now: Timestamp) -> Session? {
        guard let session = session(cookieDigest, now: now) else {
            sessions[cookieDigest] = nil
            return nil
        }
        sessions[cookieDigest]?.usedAt = max(now, session.usedAt)
        return session
    }

    func session(_ cookieDigest: String, now: Timestamp) -> Session? {
        sessions[cookieDigest].flatMap { $0.endsAt > now ? $0 : nil }
    }

    func list(now: Timestamp) -> [Session] {
        sessions.values.filter { $0.endsAt > now }.sorted { ($1.usedAt, $0.id) < ($0.usedAt, $1.id) }
    }

    mutating func end(_ id: String) { sessions = sessions.filter { $0.value.id != id } }
}

extension String {
    /// Scheme, host and port of a URL, as browsers spell an origin.
    var origin: String {
        lowercased().split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
            .joined(separator: "/")
    }
}
