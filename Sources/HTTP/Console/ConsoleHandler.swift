import Cipher
import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import NIOCore

/// Answers requests: who may ask, how often, and what.
final class ConsoleHandler: Sendable {
    private let configuration: ConsoleConfiguration
    /// Nil: whoever can connect may ask for everything that is the operator's.
    private let authenticator: (any APIAuthenticator)?
    private let routes: RouteTable
    private let now: @Sendable () -> Timestamp
    private let limits: CallLimits

    init(
        configuration: ConsoleConfiguration,
        authenticator: (any APIAuthenticator)?,
        endpoints: [APIEndpoint],
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.authenticator = authenticator
        routes = RouteTable(endpoints)
        self.now = now
        limits = CallLimits(configuration, now: now)
    }

    func answer(_ request: Request, on channel: any Channel) async throws -> HTTPAnswer {
        let head = APIRequestHead(request, peer: channel.remoteAddress?.ipAddress ?? "")
        var body = GatheredBody(usual: configuration.limits.bodyBytes)
        defer { if body.isLong { limits.endLongBody() } }
        do {
            try await request.readBody(
                atMost: ByteCount(Int.max),
                within: configuration.limits.bodyTimeout,
                on: channel
            ) { part throws(RequestError) in
                try body.add(part) { () throws(APIProblem) in try admitLongBody(head) }
            }
        } catch RequestError.tooLong {
            return tooLong(head, body.problem, on: channel)
        }
        if let page = page(request) { return page }
        return await answer(head.with(body.bytes))
    }

    /// How long the body may be that turns out longer than usual: only where an endpoint takes such, from whoever may
    /// ask there, and so many at a time.
    private func admitLongBody(_ head: APIRequestHead) throws(APIProblem) -> ByteCount {
        let usual = configuration.limits.bodyBytes
        let match = routes.match(head.method, head.target.prefix { $0 != "?" })
        guard case .endpoint(let endpoint, _) = match, let limit = endpoint.body?.limit else {
            throw GatheredBody.tooLong(usual)
        }
        guard let principal = try identify(head, endpoint.access, match) else {
            throw Self.unauthorized(endpoint.access)
        }
        guard principal.may(endpoint.access) else { throw Self.forbidden(endpoint.access) }
        try limits.admitLongBody()
        return max(limit, usual)
    }

    /// What is left of the body is dropped for a moment: a connection that ends while the client still sends takes the
    /// answer with it.
    private func tooLong(_ head: APIRequestHead, _ problem: APIProblem, on channel: any Channel) -> HTTPAnswer {
        channel.eventLoop.scheduleTask(in: Self.patienceForRests) { channel.close(promise: nil) }
        var answer = ConsoleAnswer(problem, requestID: Self.requestID(head.fields("x-request-id")))
        answer.fields["connection"] = "close"
        answer.fields["cache-control"] = "no-store"
        return HTTPAnswer(answer)
    }

    private static let patienceForRests: TimeAmount = .seconds(5)

    /// A file for browsers. They cost little and tell nothing, so that strangers' limits do not count.
    private func page(_ request: Request) -> HTTPAnswer? {
        let (method, target) = (request.method.rawValue, request.head.path ?? "")
        // None of them is a page, and most requests that come often are there.
        guard !target.hasPrefix("/v1/") else { return nil }
        let tags = request.headers[values: .ifNoneMatch]
        return configuration.pages.lazy.compactMap { $0.answer(method: method, target: target, knownTags: tags) }.first
            .map { HTTPAnswer($0) }
    }

    /// The answer to a request as it goes out, whatever it is.
    func answer(_ head: APIRequestHead) async -> HTTPAnswer {
        let isVersioned = head.target == "/v1" || head.target.hasPrefix("/v1/") || head.target.hasPrefix("/v1?")
        let requestID = Self.requestID(head.fields("x-request-id"))
        let methods = routes.methodsForOwners(at: head.target.prefix { $0 != "?" })
        if let methods, head.method == "OPTIONS" { return Self.preflight(methods) }
        var answer: ConsoleAnswer
        do {
            answer = try await self.answer(to: head, isVersioned: isVersioned)
        } catch let problem as APIProblem {
            answer = ConsoleAnswer(problem, requestID: requestID)
        } catch {
            // It may say more than may be passed on; the log has it.
            let problem = APIProblem(500, "this could not be done; the router's log says why")
            answer = ConsoleAnswer(problem, requestID: requestID)
        }
        if methods != nil {
            answer.fields.merge(Self.leave) { $1 }
            if answer.status == 401 { answer.fields["www-authenticate"] = "Nostr" }
        }
        if answer.fields["cache-control"] == nil { answer.fields["cache-control"] = "no-store" }
        guard isVersioned else { return HTTPAnswer(answer) }
        answer.fields["x-request-id"] = requestID
        answer.fields["x-content-type-options"] = "nosniff"
        if let body = answer.live { return HTTPAnswer(answer, live: guarded(body, head)) }
        guard answer.status == 200, head.method == "GET" || head.method == "HEAD" else { return HTTPAnswer(answer) }
        let tag = answer.entityTag
        answer.fields["etag"] = tag
        answer.fields["cache-control"] = "private, no-cache"
        if EntityTag.isNamed(tag, in: head.fields("if-none-match")) {
            answer.status = 304
            answer.body = ""
        }
        return HTTPAnswer(answer)
    }

    private func answer(to head: APIRequestHead, isVersioned: Bool) async throws -> ConsoleAnswer {
        let parts = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let match = routes.match(head.method, parts.first ?? "")
        var access = APIAccess.everybody
        if case .endpoint(let endpoint, _) = match { access = endpoint.access }
        let principal = try identify(head, access, match)
        switch match {
        // Unauthenticated clients do not learn which paths there are.
        case .nothing where principal == nil && isVersioned, .wrongMethod where principal == nil && isVersioned:
            throw Self.unauthorized(access)
        case .nothing:
            // A session of NIP-46 has neither pages nor probes.
            let others = configuration.pages.isEmpty ? "" : "/console/, /me/, /healthz, /readyz, /metrics or "
            throw APIProblem(404, "expected \(others)a path of /v1/openapi.json")
        case .wrongMethod(let allow): throw APIProblem.wrongMethod(allow: allow)
        case .endpoint(let endpoint, let path):
            if let principal, !principal.may(access) { throw Self.forbidden(access) }
            guard principal?.may(access) ?? (access == .everybody) else { throw Self.unauthorized(access) }
            let query = QueryString(parts.count > 1 ? parts[1] : "")
            let call = APICall(
                principal: principal,
                path: path,
                query: try endpoint.checked(path, query, head, isStrict: isVersioned),
                fields: endpoint.fields(of: head),
                body: head.body
            )
            return try await limits.work(for: access) {
                if endpoint.isBrief { return try await endpoint.answer(call) }
                return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await endpoint.answer(call)
                }
            }
        }
    }

    /// Ends with the leave of whoever reads.
    private func guarded(_ body: any LiveBody, _ head: APIRequestHead) -> any LiveBody {
        guard let authenticator else { return body }
        let match = routes.match(head.method, head.target.prefix { $0 != "?" })
        guard case .endpoint(let endpoint, _) = match, case .scope = endpoint.access else { return body }
        return GuardedBody(body, now: now) {
            (try? authenticator.principal(of: head, for: endpoint.access))??.may(endpoint.access) ?? false
        }
    }

    /// Who asks. Throws for those who ask too often.
    private func identify(
        _ head: APIRequestHead,
        _ access: APIAccess,
        _ match: RouteTable.Match
    ) throws(APIProblem) -> APIPrincipal? {
        guard let authenticator else { return .agent("this machine", Set(APIScope.allCases)) }
        // An owner's proof costs a look at a signature, so that strangers' limits come first.
        if access == .owner { try limits.admitStranger(head) }
        let principal = try authenticator.principal(of: head, for: access)
        if let principal {
            try limits.admit(principal)
        } else if access != .owner, !Self.isProbe(match, head) {
            try limits.admitStranger(head)
        }
        return principal
    }

    /// What watches us asks for these, perhaps through the same proxy as everybody: no stranger may use up its share.
    /// They cost little. That readiness tells right tokens from wrong ones must not serve to try tokens out.
    private static func isProbe(_ match: RouteTable.Match, _ head: APIRequestHead) -> Bool {
        guard case .endpoint(let endpoint, _) = match else { return false }
        return endpoint.isProbe && (endpoint.path == "/healthz" || head.authorization.isEmpty)
    }

    // MARK: Answers

    /// Pages of any site may ask for what is their visitor's: what proves who asks is signed for this one request, and
    /// no browser adds it by itself.
    private static let leave = [
        "access-control-allow-origin": "*", "access-control-expose-headers": "etag, retry-after, x-request-id",
    ]

    private static func preflight(_ methods: [String]) -> HTTPAnswer {
        var answer = ConsoleAnswer(status: 204, body: "")
        answer.fields = leave
        answer.fields["access-control-allow-methods"] = methods.joined(separator: ", ")
        answer.fields["access-control-allow-headers"] = "authorization, content-type, if-none-match, x-request-id"
        answer.fields["access-control-max-age"] = "600"
        return HTTPAnswer(answer)
    }

    /// The response to a request that names no host, or two.
    static var answerWithoutHost: HTTPAnswer {
        let problem = APIProblem(400, HostField.expectation)
        var answer = ConsoleAnswer(problem, requestID: requestID([]))
        answer.fields["cache-control"] = "no-store"
        return HTTPAnswer(answer)
    }

    private static func unauthorized(_ access: APIAccess) -> APIProblem {
        let expected =
            access == .owner
            ? "Nostr and an event of kind 27235 (NIP-98)"
            : "Bearer and the token in the file that api.token_file names, or one of carillon tokens"
        return APIProblem(401, "expected the header Authorization: \(expected)")
    }

    private static func forbidden(_ access: APIAccess) -> APIProblem {
        guard case .scope(let scope) = access else {
            return APIProblem(403, "this is for those who sign with their Nostr key (NIP-98), not for tokens")
        }
        return APIProblem(
            403,
            Sentence(
                "scope",
                ["scope": scope.rawValue],
                "this takes a token with the scope \(scope.rawValue): carillon tokens create NAME --scope \(scope.rawValue)"
            )
        )
    }

    /// The client's, where it is plain, else a new one.
    private static func requestID(_ wanted: [String]) -> String {
        if let id = wanted.first, (1...64).contains(id.utf8.count),
            id.utf8.allSatisfy({ byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "-._".utf8.contains(byte)
            })
        {
            return id
        }
        return Hex.encode(SecureRandom.bytes(12))
    }
}

extension APIRequestHead {
    /// Without the body, which is not read yet.
    fileprivate init(_ request: Request, peer: String) {
        let (fields, host) = (request.headers, request.head.authority)
        self.init(
            method: request.method.rawValue,
            target: request.head.path ?? "",
            authorization: fields[values: .authorization],
            fields: { name in
                // What HTTP/1.1 says in a field of its own stands elsewhere here.
                name == "host" ? host.map { [$0] } ?? [] : HTTPField.Name(name).map { fields[values: $0] } ?? []
            },
            peer: peer
        )
    }
}

extension HTTPAnswer {
    fileprivate init(_ page: StaticSite.Answer) {
        var fields = HTTPFields()
        for header in page.headers {
            if let name = HTTPField.Name(header.name) { fields[name] = header.value }
        }
        self.init(status: HTTPResponse.Status(code: page.status), fields: fields, bytes: page.body ?? [])
    }

    fileprivate init(_ answer: ConsoleAnswer) {
        let status = HTTPResponse.Status(code: answer.status)
        self.init(status: status, fields: Self.fields(answer), bytes: Array(answer.body.utf8))
    }

    fileprivate init(_ answer: ConsoleAnswer, live body: any LiveBody) {
        self.init(status: HTTPResponse.Status(code: answer.status), fields: Self.fields(answer), live: body)
    }

    private static func fields(_ answer: ConsoleAnswer) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in answer.fields {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        if answer.status != 304, answer.status != 204 { fields[.contentType] = answer.contentType }
        return fields
    }
}
