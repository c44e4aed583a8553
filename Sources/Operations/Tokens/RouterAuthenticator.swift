import Console
import RouterConfiguration

/// Tells who asks a running router: by a token, by a key that signs, or by what a proxy says that people signed on at.
package struct RouterAuthenticator: APIAuthenticator {
    private let token: @Sendable () -> APIToken?
    private let named: CurrentTokens
    private let signOn: ProxySignOn?
    private let owners: OwnerAuthenticator

    /// `token` is the one of the token file, which opens everything; a reload may replace it.
    package init(
        token: @escaping @Sendable () -> APIToken?,
        named: CurrentTokens,
        signOn: ProxySignOn?,
        owners: OwnerAuthenticator
    ) {
        self.token = token
        self.named = named
        self.signOn = signOn
        self.owners = owners
    }

    package func principal(of head: APIRequestHead, for access: APIAccess) throws(APIProblem) -> APIPrincipal? {
        if let credentials = head.credentials("bearer") {
            if token()?.opens(credentials) ?? false { return .agent("the token file", Set(APIScope.allCases)) }
            return named.principal(of: credentials)
        }
        // A signature is looked at where one is wanted, and only there counts as used.
        if access == .owner, let credentials = head.credentials("nostr") {
            return try owners.principal(head, credentials)
        }
        return try signOn?.principal(of: head)
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
        origin = url.map(Self.origin)
    }

    /// Nil where no proxy that is trusted names anybody. Throws an ``APIProblem`` for what another site may have had a
    /// browser send: browsers are signed on for whatever they send.
    func principal(of head: APIRequestHead) throws(APIProblem) -> APIPrincipal? {
        let names = head.fields(settings.header)
        guard isTrustedProxy(head.peer), names.count == 1, let name = names.first, !name.isEmpty,
            let scopes = settings.scopes[name] ?? settings.scopes["*"]
        else { return nil }
        guard head.method == "GET" || head.method == "HEAD" || isOfSameSite(head) else {
            throw APIProblem(403, "this came from a page of another site")
        }
        return .agent("signed on as \(name)", scopes)
    }

    private func isOfSameSite(_ head: APIRequestHead) -> Bool {
        if let site = head.fields("sec-fetch-site").first { return site == "same-origin" || site == "none" }
        guard let claimed = head.fields("origin").first else { return true }
        if let origin { return claimed.lowercased() == origin }
        let host = head.fields("host").first?.lowercased() ?? ""
        return !host.isEmpty && ["https://\(host)", "http://\(host)"].contains(claimed.lowercased())
    }

    private static func origin(of url: String) -> String {
        let parts = url.lowercased().split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}
