import Console
import Rules
import Units

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
        let body: JSONTree = [
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
                throw APIProblem(403, Sentence("other-site", [:], "this came from a page of another site"))
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
            .get,
            "/v1/session",
            for: .everybody,
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
            .get,
            "/v1/sessions",
            for: .scope(.read),
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
            .delete,
            "/v1/sessions/{session}",
            for: .scope(.read),
            .session,
            "Signs a browser out.",
            [.path("session", .plain(40), "A session's id."), Self.cookie]
        ) { [sessions] call in
            let id = call.path("session")
            let open = sessions.list(of: call.nameWithoutOperating)
            guard let session = open.first(where: { $0.id == id }) else {
                throw OperationFailure.unknown(
                    Sentence("unknown-session", [:], "there is no such session; it may have ended")
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
            beganAt = UTCTime(session.beganAt).stamp
            usedAt = UTCTime(session.usedAt).stamp
            endsAt = UTCTime(session.endsAt).stamp
            isOwn = session.id == own
        }
    }

    var sessions: [Session]

    var text: String { sessions.map { "\($0.id) \($0.name)" }.joined(separator: "\n") }
}
