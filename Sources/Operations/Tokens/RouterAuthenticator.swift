import Cipher
import Console
import Core
import Foundation
import NIOCore
import Nostr
import Registry
import RouterConfiguration
import Synchronization

/// Authenticates API callers by token, console session, signed event, or single sign-on header of a proxy.
package struct RouterAuthenticator: Sendable {
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

    @Sendable package func principal(of head: APIRequestHead, for access: APIAccess) throws(APIError) -> APIPrincipal? {
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

/// A request that its sender signed with a Nostr key (NIP-98).
struct OwnerProof {
    /// The allowed difference between the event's `created_at` and the current time.
    static let tolerance: Duration = .seconds(60)
    /// The maximum size of an event in bytes.
    private static let maxBytes = 8 << 10

    let key: PublicKey
    let id: EventID

    /// `urls` are the API's base URLs as clients use them. Throws an ``APIError`` that describes the first error in
    /// the event, with no other detail.
    init(
        _ head: APIRequestHead,
        _ credentials: String,
        urls: [String],
        startedAt: Timestamp,
        now: Timestamp
    ) throws(APIError) {
        guard credentials.utf8.count <= Self.maxBytes * 4 / 3 + 4, let json = Base64.decode(credentials),
            let event = try? Event(json: json)
        else { throw Self.problem("form", "expected a base64 event after Nostr") }
        guard event.kind == .httpAuthentication else { throw Self.problem("form", "expected an event of kind 27235") }
        guard abs(event.createdAt - now.seconds) <= Self.tolerance.seconds else {
            throw Self.problem("time", "created_at: expected a time within \(Self.tolerance.seconds) seconds of now")
        }
        // Used proofs are not remembered over a restart.
        guard event.createdAt >= startedAt.seconds else {
            throw Self.problem("restart", "created_at: expected a time since the router started; sign it again")
        }
        guard let url = event.value(of: "u"), urls.contains(where: { url == $0 + head.target }) else {
            throw Self.problem(
                "url",
                "the tag u: expected the whole URL of this request, as in \(urls.first ?? "")/v1/me",
                ["url": "\(urls.first ?? "")/v1/me"]
            )
        }
        guard event.value(of: "method") == head.method else {
            throw Self.problem("request", "the tag method: expected \(head.method)")
        }
        let payload = event.value(of: "payload")
        if head.body.readableBytes > 0 || payload != nil {
            guard payload == Hex.encode(SHA256.hash(Array(head.body.readableBytesView))) else {
                throw Self.problem(
                    "request",
                    "the tag payload: expected the SHA-256 of the body in hexadecimal digits"
                )
            }
        }
        guard (try? event.verify()) != nil else { throw Self.problem("signature", "the id or the signature is wrong") }
        key = event.pubkey
        id = event.id
    }

    /// `code` names the kind of error: `form`, `time`, `restart` (older than the router's start), `url`, `request`,
    /// `signature`, or `used` (a repeated proof).
    fileprivate static func problem(_ code: String, _ detail: String, _ values: [String: String] = [:]) -> APIError {
        APIError(401, Sentence("proof-\(code)", values, "Authorization: \(detail)"))
    }
}

/// An authenticator of signed requests that accepts each proof only once.
package final class OwnerAuthenticator: Sendable {
    /// The maximum number of remembered proofs. Rate limits keep clients below it.
    private static let capacity = 100_000

    private enum Decision {
        case new, known, full
    }

    private struct State {
        /// The end of each proof's validity, in seconds since 1970.
        var seen: [EventID: Int64] = [:]
        var sweptAt: Int64 = 0

        mutating func note(_ id: EventID, now: Int64) -> Decision {
            if now != sweptAt, seen.count > capacity / 2 {
                seen = seen.filter { $0.value >= now }
                sweptAt = now
            }
            guard seen[id] == nil else { return .known }
            guard seen.count < capacity else { return .full }
            // A client whose clock is a minute ahead makes an event valid for two minutes.
            seen[id] = now + 2 * OwnerProof.tolerance.seconds + 1
            return .new
        }
    }

    private let urls: @Sendable () -> [String]
    private let startedAt: Timestamp
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// `urls` are the API's base URLs as clients use them.
    package init(urls: @escaping @Sendable () -> [String], now: @escaping @Sendable () -> Timestamp) {
        self.urls = urls
        self.now = now
        startedAt = now()
    }

    func principal(_ head: APIRequestHead, _ credentials: String) throws(APIError) -> APIPrincipal {
        let now = now()
        let proof = try OwnerProof(head, credentials, urls: urls(), startedAt: startedAt, now: now)
        let decision = state.withLock { state in state.note(proof.id, now: now.seconds) }
        switch decision {
        case .new: return .owner(proof.key.hex)
        case .known: throw OwnerProof.problem("used", "this event was used before; sign each request separately")
        case .full:
            throw APIError(
                503,
                Sentence("proof-full", "too many signed requests: try again in a minute"),
                retryAfter: 60
            )
        }
    }
}

/// The account API inside a NIP-46 session. It has the same operations and needs the same proof as over HTTP.
///
/// A session authenticates the client but not the account; the signed event (NIP-98) does that. A session has no
/// address, so the event's `u` starts with the router's key instead.
package struct OwnSession: Sendable {
    /// The replacement for the API's base URL.
    package static func url(of key: PublicKey) -> String { "nostr:\(NIP19.npub(key))" }

    private let api: DirectAPI

    /// Serves those of `operations` that owners may use. `owners` shares its used proofs with the HTTP API.
    package init(
        _ operations: [APIOperation],
        owners: OwnerAuthenticator,
        now: @escaping @Sendable () -> Timestamp
    ) {
        api = DirectAPI(
            authenticator: { head, _ throws(APIError) in
                try head.credentials("nostr").map { proof throws(APIError) in try owners.principal(head, proof) }
            },
            endpoints: operations.map(\.endpoint).filter { $0.access == .owner },
            now: now
        )
    }

    private struct ErrorResponse: Decodable {
        var detail: String
    }

    /// Returns the JSON response to the request in a signed event, or the HTTP status and the reason if it fails.
    /// `client` is the key of the session's client.
    package func answer(proof json: String, body: String, client: PublicKey) async -> Result<String, OwnerRequestError>
    {
        guard let event = try? Event(json: Array(json.utf8)), let url = event.value(of: "u"),
            let method = event.value(of: "method"), let target = url.range(of: "/v1/me").map({ url[$0.lowerBound...] })
        else {
            return .failure(
                OwnerRequestError(
                    description: "401 expected the JSON of an event of kind 27235 (NIP-98), whose u is "
                        + "nostr:<the router's npub>/v1/me"
                )
            )
        }
        let head = APIRequestHead(
            method: method,
            target: String(target),
            authorization: ["Nostr " + Base64.encode(Array(json.utf8))],
            peer: client.hex,
            body: ByteBuffer(string: body)
        )
        let answer = await api.answer(head)
        guard (200...299).contains(answer.status) else {
            let problem = try? JSONDecoder().decode(ErrorResponse.self, from: Data(answer.body.utf8))
            // The event is a parameter here, not a header field.
            let detail = (problem?.detail ?? "").replacing("Authorization: ", with: "", maxReplacements: 1)
            return .failure(OwnerRequestError(description: "\(answer.status) \(detail)"))
        }
        return .success(answer.body.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

/// The error of a rejected request: the status that HTTP would have, and the message.
package struct OwnerRequestError: Error, CustomStringConvertible {
    package let description: String
}
