import Cipher
import Console
import Core
import JSON
import Rules
import Synchronization

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
            throw APIProblem(403, Sentence("other-site", "this came from a page of another site"))
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

/// Signing in to the console with a token, and the sessions that are open.
struct SessionAPI {
    private static let cookie = APIParameter.cookie(
        BrowserSessions.cookie,
        .text(100),
        "A browser's session; it counts where there is no Authorization."
    )

    let sessions: BrowserSessions

    var operations: [APIOperation] { [begin, show, end, list, revoke] }

    private var begin: APIOperation {
        let body: JSONValue = [
            "type": "object", "required": ["token"], "additionalProperties": false,
            "properties": ["token": ["type": "string", "maxLength": 500]],
        ]
        let parameters: [APIParameter] = [
            .header("user-agent", .text(2_000), "What the browser calls itself, for the list of sessions."),
            .header("sec-fetch-site", .text(40), "Another site's pages sign nobody in."),
        ]
        let endpoint = APIEndpoint(.post, "/v1/session", for: .everybody, parameters, body: APIBody()) {
            [sessions] call in
            guard ["same-origin", "none"].contains(call.field("sec-fetch-site") ?? "none") else {
                throw APIProblem(403, Sentence("other-site", "this came from a page of another site"))
            }
            let token = try RequestObject(call, members: ["token"]).required("token", atMost: 500)
            let browser = String((call.field("user-agent") ?? "").prefix(200))
            guard let (cookie, principal) = sessions.begin(token: token, browser: browser) else {
                throw APIProblem(403, "this token opens nothing: it is wrong, revoked or expired")
            }
            return Self.answer(SignInReport(principal, isSession: true), cookie: cookie)
        }
        return APIOperation(
            endpoint,
            .session,
            "Signs a browser in: the answer sets a cookie that stands for the token.",
            .json(AnswerSchema.of(SignInReport.self)),
            body: body
        )
    }

    private var show: APIOperation {
        .report(
            .get("/v1/session", for: .everybody),
            .session,
            "Who asks, by whatever means, and what they may do.",
            [Self.cookie]
        ) { [sessions] call in
            SignInReport(call.principal, isSession: sessions.session(of: call.field(BrowserSessions.cookie)) != nil)
        }
    }

    private var end: APIOperation {
        let endpoint = APIEndpoint(.delete, "/v1/session", for: .everybody, [Self.cookie]) { [sessions] call in
            if let session = sessions.session(of: call.field(BrowserSessions.cookie)) { sessions.end(session.id) }
            return Self.answer(SignInReport(nil, isSession: false), cookie: nil)
        }
        return APIOperation(
            endpoint,
            .session,
            "Signs the browser out.",
            .json(AnswerSchema.of(SignInReport.self))
        )
    }

    private var list: APIOperation {
        .report(
            .get("/v1/sessions"),
            .session,
            "Browsers that are signed in: all of them for those who may operate, else those with the same token.",
            [Self.cookie]
        ) { [sessions] call in
            let own = sessions.session(of: call.field(BrowserSessions.cookie))?.id
            return SessionList(
                sessions: sessions.list(of: call.nameWithoutOperating).map { SessionList.Session($0, own: own) }
            )
        }
    }

    private var revoke: APIOperation {
        .report(
            .delete("/v1/sessions/{session}", for: .scope(.read)),
            .session,
            "Signs a browser out.",
            [.path("session", .plain(40), "A session's id."), Self.cookie]
        ) { [sessions] call in
            let id = call.path("session")
            let open = sessions.list(of: call.nameWithoutOperating)
            guard let session = open.first(where: { $0.id == id }) else {
                throw OperationFailure.unknown(
                    Sentence("unknown-session", "there is no such session; it may have ended")
                )
            }
            sessions.end(id)
            let own = sessions.session(of: call.field(BrowserSessions.cookie))?.id
            return SessionList(sessions: open.filter { $0 != session }.map { SessionList.Session($0, own: own) })
        }
    }

    /// Nil as the cookie takes it off the browser.
    private static func answer(_ report: SignInReport, cookie: String?) -> ConsoleAnswer {
        var answer = ConsoleAnswer(body: report.json + "\n")
        let value =
            cookie.map { "\($0); \(BrowserSessions.attributes)" } ?? "; Max-Age=0; \(BrowserSessions.attributes)"
        answer.fields["set-cookie"] = "\(BrowserSessions.cookie)=\(value)"
        return answer
    }
}

extension APICall {
    /// Nil for whoever may operate and so sees everybody's sessions.
    fileprivate var nameWithoutOperating: String? {
        guard case .agent(let name, let scopes)? = principal, !scopes.contains(.operate) else { return nil }
        return name
    }
}

/// Who asks.
struct SignInReport: OperatorAnswer, Equatable {
    var isSignedIn: Bool
    /// The token's, or what a proxy says.
    var name: String?
    /// By what: `token-file`, a `token` with a name, or a `proxy`; nil: nobody is signed in.
    var means: String?
    var scopes: [String]
    /// Whether a session of the console says so, which can be ended.
    var isSession: Bool

    init(_ principal: APIPrincipal?, isSession: Bool) {
        guard case .agent(let name, let scopes)? = principal else {
            (isSignedIn, self.name, self.scopes, self.isSession) = (false, nil, [], false)
            return
        }
        isSignedIn = true
        self.name = name
        means = SignInMeans(of: name).rawValue
        self.scopes = APIScope.allCases.filter { scopes.contains($0) }.map(\.rawValue)
        self.isSession = isSession
    }

    var text: String { name ?? "nobody" }
}

/// Browsers that are signed in.
struct SessionList: OperatorAnswer, Equatable {
    struct Session: Codable, Sendable, Equatable {
        var id: String
        /// The token's.
        var name: String
        /// As in ``SignInReport/means``.
        var means: String?
        /// What the browser calls itself.
        var browser: String
        /// RFC 3339, in UTC, as all times.
        var beganAt: String
        var usedAt: String
        /// Unless it is used before.
        var endsAt: String
        /// Whether it is the one that asks.
        var isOwn: Bool

        init(_ session: SessionTable.Session, own: String?) {
            id = session.id
            name = session.name
            means = SignInMeans(of: session.name).rawValue
            browser = session.browser
            beganAt = session.beganAt.rfc3339
            usedAt = session.usedAt.rfc3339
            endsAt = session.endsAt.rfc3339
            isOwn = session.id == own
        }
    }

    var sessions: [Session]

    var text: String { sessions.map { "\($0.id) \($0.name)" }.joined(separator: "\n") }
}
