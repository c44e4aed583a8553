import Cipher
import Console
import Core
import JSON
import Rules
import Synchronization

/// The console's sign-in sessions. They are in memory only, so a restart ends all of them.
///
/// The browser's cookie is a random string, and the router stores only its hash. A session has no rights itself: each
/// request looks up its token, so the session ends with the token.
package final class BrowserSessions: Sendable {
    /// The prefix binds the cookie to this host and TLS; the attributes hide it from scripts.
    static let cookie = "__Host-carillon"
    /// Cookies that start and end a session share these attributes.
    static let attributes = "Path=/; Secure; HttpOnly; SameSite=Strict"

    private let principal: @Sendable (String) -> APIPrincipal?
    private let origin: String?
    private let random: RandomBytes
    private let now: @Sendable () -> Timestamp
    private let table = Mutex(SessionTable())

    /// `principal` returns the owner of a token's digest. `url` is the public URL of the API; `nil` if not configured.
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

    /// Starts a session. Returns the cookie's value; `nil` if the token is invalid.
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

    /// Returns the signed-in operator; `nil` if there is none. Throws an ``APIError`` for a cross-site request.
    func principal(of head: APIRequestHead) throws(APIError) -> APIPrincipal? {
        guard let cookie = head.cookie(Self.cookie) else { return nil }
        let digest = APIToken.digest(of: cookie)
        guard let session = table.withLock({ $0.use(digest, now: now()) }) else { return nil }
        guard let principal = principal(session.tokenDigest) else {
            table.withLock { $0.end(session.id) }
            return nil
        }
        // Requests that change data must come from the same origin, which browsers report.
        guard head.method == "GET" || head.method == "HEAD" || head.isOfSameSite(origin: origin) == true else {
            throw APIError(403, Sentence("other-site", "this came from a page of another site"))
        }
        return principal
    }

    /// Returns the session of a cookie; `nil` if there is none.
    func session(of cookie: String?) -> SessionTable.Session? {
        cookie.flatMap { cookie in table.withLock { $0.session(APIToken.digest(of: cookie), now: now()) } }
    }

    /// Returns the active sessions, most recently used first. `name` limits them to one token.
    func list(of name: String?) -> [SessionTable.Session] {
        let all = table.withLock { $0.list(now: now()) }
        return all.filter { (name == nil || $0.name == name) && principal($0.tokenDigest) != nil }
    }

    func end(_ id: String) { table.withLock { $0.end(id) } }
}

/// A table of sessions. It uses no clock and no tokens.
struct SessionTable {
    struct Session: Equatable {
        /// The session's id in the API.
        let id: String
        /// The token's name.
        let name: String
        let tokenDigest: String
        /// The browser's User-Agent, which is untrusted.
        let browser: String
        let beganAt: Timestamp
        var usedAt: Timestamp

        /// The expiry if the session is not used again.
        var endsAt: Timestamp { min(usedAt + SessionTable.idle, beganAt + SessionTable.longest) }
    }

    /// The maximum time without use.
    static let idle: Duration = .seconds(12 * 3_600)
    /// The maximum lifetime.
    static let longest: Duration = .seconds(7 * 86_400)
    /// The maximum number of sessions. One more ends the least recently used session.
    static let capacity = 200

    /// Keyed by the digests of their cookies.
    private var sessions: [String: Session] = [:]

    mutating func begin(_ session: Session, _ cookieDigest: String) {
        sessions = sessions.filter { $0.value.endsAt > session.beganAt }
        if sessions.count >= Self.capacity, let last = sessions.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            sessions[last.key] = nil
        }
        sessions[cookieDigest] = session
    }

    /// Returns the session of a cookie and restarts its idle timeout.
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
    /// The origin of a URL (scheme, host and port) as browsers write it.
    var origin: String {
        lowercased().split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
            .joined(separator: "/")
    }
}

/// The API for signing in to the console with a token, and for its sessions.
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
            .header("user-agent", .text(2_000), "The browser's name, for the list of sessions."),
            .header("sec-fetch-site", .text(40), "Requests from pages of other sites cannot sign in."),
        ]
        let endpoint = APIEndpoint(.post, "/v1/session", for: .everybody, parameters, body: APIBody()) {
            [sessions] call in
            guard ["same-origin", "none"].contains(call.field("sec-fetch-site") ?? "none") else {
                throw APIError(403, Sentence("other-site", "this came from a page of another site"))
            }
            let token = try RequestObject(call, members: ["token"]).required("token", atMost: 500)
            let browser = String((call.field("user-agent") ?? "").prefix(200))
            guard let (cookie, principal) = sessions.begin(token: token, browser: browser) else {
                throw APIError(403, "this token opens nothing: it is wrong, revoked or expired")
            }
            return Self.answer(SignInReport(principal, isSession: true), cookie: cookie)
        }
        return APIOperation(
            endpoint,
            .session,
            "Signs a browser in: the response sets a cookie that represents the token.",
            .json(AnswerSchema.of(SignInReport.self)),
            body: body
        )
    }

    private var show: APIOperation {
        .report(
            .get("/v1/session", for: .everybody),
            .session,
            "The caller's identity and permissions, with any means of sign-in.",
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
                throw OperationError.unknown(
                    Sentence("unknown-session", "there is no such session; it may have ended")
                )
            }
            sessions.end(id)
            let own = sessions.session(of: call.field(BrowserSessions.cookie))?.id
            return SessionList(sessions: open.filter { $0 != session }.map { SessionList.Session($0, own: own) })
        }
    }

    /// `cookie` is `nil` to delete the cookie from the browser.
    private static func answer(_ report: SignInReport, cookie: String?) -> ConsoleAnswer {
        var answer = ConsoleAnswer(body: report.json + "\n")
        let value =
            cookie.map { "\($0); \(BrowserSessions.attributes)" } ?? "; Max-Age=0; \(BrowserSessions.attributes)"
        answer.fields["set-cookie"] = "\(BrowserSessions.cookie)=\(value)"
        return answer
    }
}

extension APICall {
    /// The caller's token name; `nil` if the caller has the scope `operate` and may see all sessions.
    fileprivate var nameWithoutOperating: String? {
        guard case .agent(let name, let scopes)? = principal, !scopes.contains(.operate) else { return nil }
        return name
    }
}

/// The identity of the caller.
struct SignInReport: OperatorAnswer, Equatable {
    var isSignedIn: Bool
    /// The name of the token, or the name that the proxy reports.
    var name: String?
    /// How the caller signed in: `token-file`, a named `token`, or a `proxy`; `nil` if not signed in.
    var means: String?
    var scopes: [String]
    /// Whether the identity comes from a console session, which can be ended.
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

/// The browsers that are signed in.
struct SessionList: OperatorAnswer, Equatable {
    struct Session: Codable, Sendable, Equatable {
        var id: String
        /// The token's name.
        var name: String
        /// As in ``SignInReport/means``.
        var means: String?
        /// The browser's User-Agent.
        var browser: String
        /// RFC 3339, in UTC, like all times.
        var beganAt: String
        var usedAt: String
        /// The expiry if the session is not used again.
        var endsAt: String
        /// Whether this is the caller's session.
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
