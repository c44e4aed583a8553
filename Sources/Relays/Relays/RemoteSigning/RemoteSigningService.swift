import Cipher
import Core
import Foundation
import Logging
import Nostr
import Registry
import Synchronization

/// Manages clients' NIP-46 sessions with this router (contrib/docs/registration.md, "Without the router's socket").
///
/// Sessions are for registering: a registration through a session need not be on a public relay. Clients open sessions
/// with a `bunker://` URL. `nostrconnect://`, with which a client asks a signer to connect first, is not supported,
/// because a router has no user to show it to. Answers a request on the calling thread.
package final class RemoteSigningService: Sendable {
    /// The maximum payload, large enough for a registration with its tags and encrypted content, as JSON within JSON.
    private static let payloadLimit = 131_072
    /// The maximum length of a response's text. Clients read plaintexts of up to 65,535 bytes (NIP-44), and quotation
    /// marks are escaped.
    private static let longestAnswer = 48_000
    private static let blocked = MachineReadablePrefix.blocked.message("this router does not serve this key")

    private let configuration: RemoteSigningConfiguration
    private let keys: RouterKeys
    private let registry: Registry
    private let sessions: ClientSessions
    /// The response to `switch_relays`.
    private let relays: String
    private let reply: @Sendable (Event, RequestSource) -> Void
    private let own: OwnQuestion?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let refusals = Mutex(RejectCount())

    /// Reads the existing sessions. `reply` publishes a response where the client listens. `own` answers requests of
    /// accounts about themselves; nil: not supported.
    ///
    /// Throws a `RegistryStoreError` if the sessions cannot be read, and a ``SecretFileError`` if the configured file
    /// of secrets cannot be used.
    package init(
        configuration: RemoteSigningConfiguration,
        registry: Registry,
        reply: @escaping @Sendable (Event, RequestSource) -> Void,
        own: OwnQuestion? = nil,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        self.configuration = configuration
        keys = registry.keys
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // NIP-46: null means no change.
        relays =
            configuration.relays.isEmpty
            ? "null" : String(decoding: try encoder.encode(configuration.relays), as: UTF8.self)
        self.registry = registry
        self.reply = reply
        self.own = own
        self.now = now
        self.logger = logger
        sessions = try ClientSessions(configuration, registry: registry, now: now(), logger: logger)
    }

    /// Takes a request (kind 24133) with a verified signature, and answers it before this returns, except for an
    /// account's requests about itself, which are answered later. Ignores requests that are repeated, not recent, over
    /// the rate limit, or for another key.
    ///
    /// `register` takes the registration in a request: it verifies and stores it, or returns the reason for a refusal.
    package func receive(_ event: Event, from source: RequestSource, register: (Event) -> RegistrationAnswer) {
        let now = now()
        guard event.kind == .remoteSigning, let identity = identity(askedIn: event, now: now) else { return }
        let admission = sessions.admit(event, now: now)
        guard admission == .admitted else { return passOver(admission.rawValue, now: now) }
        guard let key = try? ConversationKey(secret: identity.secret, public: event.pubkey),
            let text = try? NIP44.decryptText(event.content, key: key, limit: Self.payloadLimit)
        else { return passOver("unreadable", now: now) }
        let response: RemoteSigningResponse
        do throws(RemoteSigningRequestError) {
            let request = try RemoteSigningRequest(json: text)
            let answer = answer(request, in: event, to: identity, now: now, register: register) { [self] outcome in
                let response = RemoteSigningResponse(id: request.id, outcome)
                send(response, to: event, from: source, by: identity, key: key, now: self.now())
            }
            guard let answer else { return }
            response = RemoteSigningResponse(id: request.id, answer)
        } catch {
            guard let id = error.id else { return passOver("unreadable", now: now) }
            response = RemoteSigningResponse(id: id, .error("\(error)"))
        }
        send(response, to: event, from: source, by: identity, key: key, now: now)
    }

    /// Returns the router's key that a request names. The response must come from the same key.
    private func identity(askedIn event: Event, now: Timestamp) -> KeyPair? {
        let named = Set(event.mentionedKeys)
        let isOver = keys.names.former.map { keys.names.isRetired($0, at: now) } ?? true
        let answering = isOver ? [keys.current] : keys.answering
        guard !answering.contains(where: { $0.publicKey == event.pubkey }) else { return nil }
        return answering.first { named.contains($0.publicKey) }
    }

    /// Whether a registration in a plain event, outside of a session, is allowed. If sessions are required, its author,
    /// or the root that it names as its own, needs a session or an entry in the allowlist.
    package func admits(_ registration: Event) -> Bool {
        let access = registry.access
        guard configuration.requireSession || access.mode == .inviteOnly else { return true }
        let root = registration.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        if access.isAllowed(registration.pubkey) || root.map(access.isAllowed) == true { return true }
        let now = now()
        for key in [registration.pubkey, root].compactMap({ $0 }) where sessions.has(key, now: now) {
            sessions.noteUse(by: key, now: now)
            return true
        }
        return false
    }

    // MARK: Methods

    /// Executes `request`, which arrived in `event`, for `identity`. If it returns nil, `later` receives the response.
    private func answer(
        _ request: RemoteSigningRequest,
        in event: Event,
        to identity: KeyPair,
        now: Timestamp,
        register: (Event) -> RegistrationAnswer,
        later: @escaping @Sendable (RemoteSigningResponse.Outcome) -> Void
    ) -> RemoteSigningResponse.Outcome? {
        guard let method = RemoteMethod(rawValue: request.method) else { return .error(RemoteMethod.unknown) }
        let client = event.pubkey
        guard !registry.access.isBlocked(client) else { return .error(Self.blocked) }
        if method != .connect {
            guard sessions.has(client, now: now) else { return .error("no session: connect first") }
            sessions.noteUse(by: client, now: now)
        }
        switch method {
        case .connect: return sessions.open(by: event, secret: request.params.dropFirst().first ?? "", now: now)
        case .ping: return .result("pong")
        case .publicKey: return .result(identity.publicKey.hex)
        case .switchRelays: return .result(relays)
        case .register: return self.register(request, from: client, now: now, register: register)
        case .me: return tell(request, client, later)
        case .logout: return sessions.close(by: event)
        }
    }

    /// Answers an account's request about itself asynchronously, because it reads the disk and may push. `own` limits
    /// the number of concurrent requests.
    private func tell(
        _ request: RemoteSigningRequest,
        _ client: PublicKey,
        _ later: @escaping @Sendable (RemoteSigningResponse.Outcome) -> Void
    ) -> RemoteSigningResponse.Outcome? {
        guard let own, let proof = request.params.first else {
            return .error("400 expected the JSON of a signed event of kind 27235, followed by its body, if any")
        }
        Task {
            switch await own(proof, request.params.dropFirst().first ?? "", client) {
            case .success(let json) where json.utf8.count > Self.longestAnswer:
                later(.error("413 the response is too long for a session: use HTTP, or request one event"))
            case .success(let json): later(.result(json))
            case .failure(let refusal): later(.error("\(refusal)"))
            }
        }
        return nil
    }

    private func register(
        _ request: RemoteSigningRequest,
        from client: PublicKey,
        now: Timestamp,
        register: (Event) -> RegistrationAnswer
    ) -> RemoteSigningResponse.Outcome {
        guard let json = request.params.first, let event = try? Event(json: Array(json.utf8)),
            event.kind == .pushRegistration || event.kind == .addressablePushRegistration
        else {
            return .error("invalid: expected one parameter, the JSON of a signed event of kind 10062 or 30062")
        }
        guard sessions.mayRegister(client, now: now) else {
            return .error(MachineReadablePrefix.rateLimited.message("slow down"))
        }
        switch register(event) {
        case .accepted: return .result("ack")
        case .refused(let reason): return .error(reason)
        }
    }

    private func send(
        _ response: RemoteSigningResponse,
        to request: Event,
        from source: RequestSource,
        by identity: KeyPair,
        key: ConversationKey,
        now: Timestamp
    ) {
        do {
            reply(
                try Event.signed(
                    kind: .remoteSigning,
                    // A client whose clock is ahead may subscribe only to events newer than its own request.
                    createdAt: max(now.seconds, request.createdAt),
                    tags: [["p", request.pubkey.hex]],
                    content: NIP44.encrypt(response.json, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount)),
                    by: identity
                ),
                source
            )
        } catch {
            logger.error("Failed to create a response", metadata: ["error": "\(error)"])
        }
    }

    private func passOver(_ reason: String, now: Timestamp) {
        guard let counts = refusals.withLock({ $0.add(reason, now: now) }) else { return }
        logger.notice(
            "Ignored NIP-46 requests",
            metadata: Logger.Metadata(uniqueKeysWithValues: counts.map { ($0.key, "\($0.value)") })
        )
    }
}

/// The supported methods (NIP-46; `register` and `me` are extensions). The router signs and encrypts nothing for
/// clients.
private enum RemoteMethod: String, CaseIterable {
    case connect
    case ping
    case publicKey = "get_public_key"
    case register
    case switchRelays = "switch_relays"
    case me
    case logout

    /// The error for any other method.
    static let unknown = "unknown method: this router supports \(allCases.map(\.rawValue).joined(separator: ", "))"
}

/// Counts ignored requests, and limits their log line to once a minute.
struct RejectCount {
    private static let interval: Duration = .minutes(1)

    private var counts: [String: Int] = [:]
    private var loggedAt: Timestamp?

    /// Counts a request. Returns the counts since the last line if one is due at `now`.
    mutating func add(_ reason: String, now: Timestamp) -> [String: Int]? {
        counts[reason, default: 0] += 1
        if let loggedAt, now - loggedAt < Self.interval, now >= loggedAt { return nil }
        loggedAt = now
        defer { counts = [:] }
        return counts
    }
}

/// The settings for NIP-46 sessions: access and relays.
package struct RemoteSigningConfiguration: Sendable {
    /// Whether a registration in a plain event requires a session of its author.
    package var requireSession: Bool
    /// The file with the secrets that open a session, one on each line; nil: no secret is required.
    package var secretFile: String?
    /// The relays on which the router answers, including its own socket. The response to `switch_relays` lists them.
    package var relays: [String]
    /// Whether other routers with the same registry also open and close sessions.
    package var isShared = false
    /// The rate limits for clients.
    var limits = SessionLimits()

    package init(requireSession: Bool = false, secretFile: String? = nil, relays: [String] = []) {
        self.requireSession = requireSession
        self.secretFile = secretFile
        self.relays = relays
    }
}

/// The source of a request, to which its response is sent. A stranger on the router's socket must not cause
/// publications elsewhere.
package enum RequestSource: Hashable, Sendable {
    case ownSocket
    /// A relay, or a relay's feed.
    case relays
}

/// Answers an account's request about itself. Gets the signed event (NIP-98) as JSON, the body, and the client of the
/// session.
package typealias OwnQuestion =
    @Sendable (_ proof: String, _ body: String, _ client: PublicKey) async -> Result<String, any Error>

/// The registry's result for a registration through a session.
package enum RegistrationAnswer: Hashable, Sendable {
    case accepted
    /// With the message of the corresponding `OK` (NIP-01).
    case refused(String)
}
