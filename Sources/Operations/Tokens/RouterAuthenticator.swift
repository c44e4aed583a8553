import Console
import RouterConfiguration

/// Tells who asks a running router: by a token, by a session of the console, by a key that signs, or by the
/// proxy's word where people sign on.
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

    package func principal(of head: APIRequestHead, for access: APIAccess) throws(APIProblem) -> APIPrincipal? {
        if let credentials = head.credentials("bearer") { return tokens.principal(of: credentials) }
        // A signature is looked at where one is wanted, and only there counts as used.
        if access == .owner, let credentials = head.credentials("nostr") {
            return try owners.principal(head, credentials)
        }
        if let principal = try sessions.principal(of: head) { return principal }
        return try signOn?.principal(of: head)
    }
}

/// By what somebody is signed in, as the names of principals tell it.
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

/// Single sign-on: a proxy asks people who they are, and says so in a header field.
package struct ProxySignOn: Sendable {
    private let settings: Configuration.SignOn
    private let isTrustedProxy: @Sendable (String) -> Bool
    /// What a browser calls the API's origin, as in `https://push.example.com`; nil: whatever `Host` says.
    private let origin: String?

    package init(_ settings: Configuration.SignOn, isTrustedProxy: @escaping @Sendable (String) -> Bool, url: String?) {
        self.settings = settings
        self.isTrustedProxy = isTrustedProxy
        origin = url?.origin
    }

    /// Nil where no proxy that is trusted names anybody. Throws an ``APIProblem`` for what another site may have had a
    /// browser send: browsers are signed on for whatever they send.
    func principal(of head: APIRequestHead) throws(APIProblem) -> APIPrincipal? {
        let names = head.fields(settings.header)
        guard isTrustedProxy(head.peer), names.count == 1, let name = names.first, !name.isEmpty,
            let scopes = settings.scopes[name] ?? settings.scopes["*"]
        else { return nil }
        guard head.method == "GET" || head.method == "HEAD" || head.isOfSameSite(origin: origin) ?? true else {
            throw APIProblem(403, Sentence("other-site", "this came from a page of another site"))
        }
        return .agent(SignInMeans.proxyPrefix + name, scopes)
    }
}
