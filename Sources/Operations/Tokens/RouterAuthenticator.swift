import Console
import RouterConfiguration

/// Authenticates API callers by token, console session, signed event, or single sign-on header of a proxy.
package struct RouterAuthenticator: APIAuthenticator {
    private let tokens: CurrentTokens
    private let sessions: BrowserSessions
    private let signOn: ProxySignOn?
    private let owners: OwnerAuthenticator

    package init(
        tokens: CurrentTokens,
        sessions: BrowserSessions,
        signOn: ProxySignOn?,
        owners: OwnerAuthenticator
    ) {
        self.tokens = tokens
        self.sessions = sessions
        self.signOn = signOn
        self.owners = owners
    }

    package func principal(of head: APIRequestHead, for access: APIAccess) throws(APIError) -> APIPrincipal? {
        if let credentials = head.credentials("bearer") { return tokens.principal(of: credentials) }
        // A signed event counts as used only on operations that need one.
        if access == .owner, let credentials = head.credentials("nostr") {
            return try owners.principal(head, credentials)
        }
        if let principal = try sessions.principal(of: head) { return principal }
        return try signOn?.principal(of: head)
    }
}

/// How a caller is signed in, derived from the principal's name.
enum SignInMeans: String {
    case file = "token-file"
    case token
    case proxy

    static let tokenFile = "the token file"
    static let proxyPrefix = "signed on as "

    init(of name: String) {
        self = name == Self.tokenFile ? .file : name.hasPrefix(Self.proxyPrefix) ? .proxy : .token
    }
}

/// Single sign-on: a proxy authenticates people and sends their name in a header.
package struct ProxySignOn: Sendable {
    private let settings: Configuration.SignOn
    private let isTrustedProxy: @Sendable (String) -> Bool
    /// The API's origin in browsers, such as `https://push.example.com`; `nil`: the `Host` header decides.
    private let origin: String?

    package init(_ settings: Configuration.SignOn, isTrustedProxy: @escaping @Sendable (String) -> Bool, url: String?) {
        self.settings = settings
        self.isTrustedProxy = isTrustedProxy
        origin = url?.origin
    }

    /// Returns `nil` if no trusted proxy sends a known name. Throws an ``APIError`` for a cross-site request, because
    /// browsers are signed in on every request.
    func principal(of head: APIRequestHead) throws(APIError) -> APIPrincipal? {
        let names = head.fields(settings.header)
        guard isTrustedProxy(head.peer), names.count == 1, let name = names.first, !name.isEmpty,
            let scopes = settings.scopes[name] ?? settings.scopes["*"]
        else { return nil }
        guard head.method == "GET" || head.method == "HEAD" || head.isOfSameSite(origin: origin) ?? true else {
            throw APIError(403, Sentence("other-site", "this came from a page of another site"))
        }
        return .agent(SignInMeans.proxyPrefix + name, scopes)
    }
}
