import Cipher
import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import NIOCore

/// Answers API requests: checks credentials, access and limits, then calls the endpoint.
final class ConsoleHandler: Sendable {
    private let configuration: ConsoleConfiguration
    /// Nil: every client that can connect has the operator's access.
    private let authenticator: APIAuthenticator?
    private let routes: RouteTable
    private let now: @Sendable () -> Timestamp
    private let limits: CallLimits

    init(
        configuration: ConsoleConfiguration,
        authenticator: APIAuthenticator?,
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
                try body.add(part) { () throws(APIError) in try admitLongBody(head) }
            }
        } catch RequestError.tooLong {
            return tooLong(head, body.problem, on: channel)
        }
        if let page = page(request) { return page }
        return await answer(head.with(body.bytes))
    }

    /// Permits a body above the usual limit, and returns its limit. The endpoint must take long bodies, the client must
    /// have access, and a slot must be free.
    private func admitLongBody(_ head: APIRequestHead) throws(APIError) -> ByteCount {
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

    /// Drops the rest of the body for a moment: if the connection closed while the client still sends, the response
    /// would be lost.
    private func tooLong(_ head: APIRequestHead, _ problem: APIError, on channel: any Channel) -> HTTPAnswer {
        channel.eventLoop.scheduleTask(in: Self.restTimeout) { channel.close(promise: nil) }
        var answer = ConsoleAnswer(problem, requestID: Self.requestID(head.fields("x-request-id")))
        answer.fields["connection"] = "close"
        answer.fields["cache-control"] = "no-store"
        return HTTPAnswer(answer)
    }

    private static let restTimeout: TimeAmount = .seconds(5)

    /// A file for browsers. Files are cheap and public, so the limits for unauthenticated clients do not apply.
    private func page(_ request: Request) -> HTTPAnswer? {
        let (method, target) = (request.method.rawValue, request.head.path ?? "")
        // No page is below `/v1/`, but most frequent requests are.
        guard !target.hasPrefix("/v1/") else { return nil }
        let tags = request.headers[values: .ifNoneMatch]
        return configuration.pages.lazy.compactMap { $0.answer(method: method, target: target, knownTags: tags) }.first
            .map { HTTPAnswer($0) }
    }

    /// Returns the response to any request.
    func answer(_ head: APIRequestHead) async -> HTTPAnswer {
        let isVersioned = head.target == "/v1" || head.target.hasPrefix("/v1/") || head.target.hasPrefix("/v1?")
        let requestID = Self.requestID(head.fields("x-request-id"))
        let methods = routes.methodsForOwners(at: head.target.prefix { $0 != "?" })
        if let methods, head.method == "OPTIONS" { return Self.preflight(methods) }
        var answer: ConsoleAnswer
        do {
            answer = try await self.answer(to: head, isVersioned: isVersioned)
        } catch let problem as APIError {
            answer = ConsoleAnswer(problem, requestID: requestID)
        } catch {
            // The error may hold details that must not be exposed; they are logged.
            let problem = APIError(500, "the request failed; see the router's log")
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
        // Unauthenticated clients do not learn which paths exist.
        case .nothing where principal == nil && isVersioned, .wrongMethod where principal == nil && isVersioned:
            throw Self.unauthorized(access)
        case .nothing:
            // In a NIP-46 session there are neither pages nor probes.
            let others = configuration.pages.isEmpty ? "" : "/console/, /me/, /healthz, /readyz, /metrics or "
            throw APIError(404, "expected \(others)a path of /v1/openapi.json")
        case .wrongMethod(let allow): throw APIError.wrongMethod(allow: allow)
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

    /// Makes the body end when the client's permission ends.
    private func guarded(_ body: any LiveBody, _ head: APIRequestHead) -> any LiveBody {
        guard let authenticator else { return body }
        let match = routes.match(head.method, head.target.prefix { $0 != "?" })
        guard case .endpoint(let endpoint, _) = match, case .scope = endpoint.access else { return body }
        return GuardedBody(body, now: now) {
            (try? authenticator(head, endpoint.access))??.may(endpoint.access) ?? false
        }
    }

    /// Identifies the client. Throws for clients above their rate limit.
    private func identify(
        _ head: APIRequestHead,
        _ access: APIAccess,
        _ match: RouteTable.Match
    ) throws(APIError) -> APIPrincipal? {
        guard let authenticator else { return .agent("this machine", Set(APIScope.allCases)) }
        // Checking an owner's proof means verifying a signature, so the limits for unauthenticated clients come first.
        if access == .owner { try limits.admitStranger(head) }
        let principal = try authenticator(head, access)
        if let principal {
            try limits.admit(principal)
        } else if access != .owner, !Self.isProbe(match, head) {
            try limits.admitStranger(head)
        }
        return principal
    }

    /// Whether the request is a monitoring probe. Monitoring may share a proxy with all clients, so they must not use
    /// up its allowance. Probes are cheap. Readiness shows whether a token is valid, but must not serve to guess
    /// tokens.
    private static func isProbe(_ match: RouteTable.Match, _ head: APIRequestHead) -> Bool {
        guard case .endpoint(let endpoint, _) = match else { return false }
        return endpoint.isProbe && (endpoint.path == "/healthz" || head.authorization.isEmpty)
    }

    // MARK: Answers

    /// CORS fields. Pages of any site may request their visitor's data: the proof is signed for this one request, and
    /// no browser adds it automatically.
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

    /// The response to a request with no Host field, or with two.
    static var answerWithoutHost: HTTPAnswer {
        let problem = APIError(400, HostField.expectation)
        var answer = ConsoleAnswer(problem, requestID: requestID([]))
        answer.fields["cache-control"] = "no-store"
        return HTTPAnswer(answer)
    }

    private static func unauthorized(_ access: APIAccess) -> APIError {
        let expected =
            access == .owner
            ? "Nostr and an event of kind 27235 (NIP-98)"
            : "Bearer and a token: from the file of api.token_file, or from carillon tokens"
        return APIError(401, "expected the header Authorization: \(expected)")
    }

    private static func forbidden(_ access: APIAccess) -> APIError {
        guard case .scope(let scope) = access else {
            return APIError(403, "this needs a request signed with a Nostr key (NIP-98), not a token")
        }
        return APIError(
            403,
            Sentence(
                "scope",
                ["scope": scope.rawValue],
                "this needs a token with the scope \(scope.rawValue): carillon tokens create NAME --scope \(scope.rawValue)"
            )
        )
    }

    /// The client's ID if it is plain, else a new one.
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
    /// Leaves out the body, which is not read yet.
    fileprivate init(_ request: Request, peer: String) {
        let (fields, host) = (request.headers, request.head.authority)
        self.init(
            method: request.method.rawValue,
            target: request.head.path ?? "",
            authorization: fields[values: .authorization],
            fields: { name in
                // HTTP/1.1's Host field is stored separately here.
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
