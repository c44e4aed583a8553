import Cipher
import Foundation
import Logging
import Nostr
import Registry
import Synchronization
import Units

/// Holds the NIP-46 sessions of clients with this router: what seed 004 calls authentication by NIP-46.
///
/// Registering is what a session is for: a registration that comes through one need not touch a public relay. Sessions
/// are opened by clients with a `bunker://` URL; `nostrconnect://`, with which a client asks a signer to make the first
/// step, is not supported, since a router has no user who could show it one. Answers a request on the thread it comes
/// on.
package final class RemoteSigningService: Sendable {
    /// Large enough for a registration with its tags and encrypted content, as JSON within JSON.
    private static let payloadLimit = 131_072
    /// Of an answer's text. Clients read plaintexts of up to 65,535 bytes (NIP-44), and quotation marks are escaped.
    private static let longestAnswer = 48_000
    private static let blocked = MachineReadablePrefix.blocked.message("this router does not serve this key")
    private static let wrongSecret = "the secret is unknown or was used by another client: ask for a new bunker:// URL"

    private let configuration: RemoteSigningConfiguration
    private let keys: RouterKeys
    private let registry: Registry
    /// Nil: no secret is asked for.
    private let secrets: SecretSource?
    /// The answer to `switch_relays`.
    private let relays: String
    private let reply: @Sendable (Event, RequestSource) -> Void
    private let own: OwnQuestion?
    private let now: @Sendable () -> Timestamp
    private let random: RandomBytes
    private let logger: Logger
    private let sessions: Mutex<SessionTable>
    private let refusals = Mutex(RefusalCount())

    /// Reads the existing sessions. `reply` publishes an answer where the client that asked listens. `own` answers what
    /// accounts ask about themselves; nil: nothing does.
    ///
    /// Throws a `RegistryStoreError` if the sessions cannot be read, and a ``SecretFileError`` if the configured file
    /// of secrets cannot be used.
    package convenience init(
        configuration: RemoteSigningConfiguration,
        registry: Registry,
        reply: @escaping @Sendable (Event, RequestSource) -> Void,
        own: OwnQuestion? = nil,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        try self.init(
            configuration: configuration,
            registry: registry,
            limits: SessionLimits(),
            reply: reply,
            own: own,
            now: now,
            logger: logger
        )
    }

    init(
        configuration: RemoteSigningConfiguration,
        registry: Registry,
        limits: SessionLimits,
        reply: @escaping @Sendable (Event, RequestSource) -> Void,
        own: OwnQuestion? = nil,
        now: @escaping @Sendable () -> Timestamp,
        random: @escaping RandomBytes = SecureRandom.bytes,
        logger: Logger
    ) throws {
        self.configuration = configuration
        keys = registry.keys
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // NIP-46: null where nothing is to change.
        relays =
            configuration.relays.isEmpty
            ? "null" : String(decoding: try encoder.encode(configuration.relays), as: UTF8.self)
        self.registry = registry
        self.reply = reply
        self.own = own
        self.now = now
        self.random = random
        self.logger = logger
        let digester = try ConnectSecrets.Digester(registry.keys.seeds)
        secrets = configuration.secretFile.map { SecretSource(file: SecretFile(path: $0), digester: digester) }
        if try secrets?.secrets().isEmpty == true { logger.info("No secret opens a session yet") }
        let stored = try registry.remoteSessions(usedSince: now() - limits.unused)
        sessions = Mutex(SessionTable(sessions: stored, limits: limits, now: now()))
    }

    /// Takes a request (kind 24133) whose signature was verified, and answers it before this returns, but for what an
    /// account asks about itself, which takes its time. Ignores requests that are repeated, not from around now, too
    /// many, or not for us.
    ///
    /// `register` takes the registration that a request carries: it verifies and keeps it, or says why not.
    package func receive(_ event: Event, from source: RequestSource, register: (Event) -> RegistrationAnswer) {
        let now = now()
        guard event.kind == .remoteSigning, let identity = identity(askedIn: event, now: now) else { return }
        let admission = sessions.withLock {
            $0.admit(event.id, from: event.pubkey, madeAt: event.createdAt, now: now)
        }
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

    /// The key of ours that a request names: a client knows no other, and is answered by it.
    private func identity(askedIn event: Event, now: Timestamp) -> KeyPair? {
        let named = Set(event.mentionedKeys)
        let isOver = keys.names.former.map { keys.names.isRetired($0, at: now) } ?? true
        let answering = isOver ? [keys.current] : keys.answering
        guard !answering.contains(where: { $0.publicKey == event.pubkey }) else { return nil }
        return answering.first { named.contains($0.publicKey) }
    }

    /// Whether a registration that came as a plain event, and not through a session, is allowed: if sessions are
    /// required, only if its author, or the root that it names as its own (seed 004), has one or is allowed by name.
    package func admits(_ registration: Event) -> Bool {
        let access = registry.access
        guard configuration.requireSession || access.mode == .invited else { return true }
        let root = registration.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        if access.isAllowed(registration.pubkey) || root.map(access.isAllowed) == true { return true }
        let now = now()
        for key in [registration.pubkey, root].compactMap({ $0 }) where hasSession(key, now: now) {
            noteUse(by: key, now: now)
            return true
        }
        return false
    }

    // MARK: Methods

    /// Does what `request`, which came in `event`, asks `identity` for. Nil: `later` gets the answer.
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
            guard hasSession(client, now: now) else { return .error("no session: connect first") }
            noteUse(by: client, now: now)
        }
        switch method {
        case .connect: return connect(request, event, now: now)
        case .ping: return .result("pong")
        case .publicKey: return .result(identity.publicKey.hex)
        case .switchRelays: return .result(relays)
        case .register: return self.register(request, from: client, now: now, register: register)
        case .me: return tell(request, client, later)
        case .logout: return logout(event)
        }
    }

    /// What an account asks about itself reads the disk and may push, so that nobody waits for it here. How much is in
    /// work at a time is limited by who answers.
    private func tell(
        _ request: RemoteSigningRequest,
        _ client: PublicKey,
        _ later: @escaping @Sendable (RemoteSigningResponse.Outcome) -> Void
    ) -> RemoteSigningResponse.Outcome? {
        guard let own, let proof = request.params.first else {
            return .error("400 expected the JSON of a signed event of kind 27235, and behind it its body, if any")
        }
        Task {
            switch await own(proof, request.params.dropFirst().first ?? "", client) {
            case .success(let json) where json.utf8.count > Self.longestAnswer:
                later(.error("413 the answer is longer than a session takes: ask over HTTP, or for one event"))
            case .success(let json): later(.result(json))
            case .failure(let refusal): later(.error("\(refusal)"))
            }
        }
        return nil
    }

    private func hasSession(_ client: PublicKey, now: Timestamp) -> Bool {
        lookUp(client)
        return sessions.withLock { $0.hasSession(client, now: now) }
    }

    /// Takes note of what became of a client's session elsewhere.
    private func lookUp(_ client: PublicKey) {
        guard configuration.isShared, let found = try? registry.remoteSession(of: client) else {
            if configuration.isShared { sessions.withLock { $0.closed(client) } }
            return
        }
        sessions.withLock { $0.learn(found) }
    }

    private func connect(
        _ request: RemoteSigningRequest,
        _ event: Event,
        now: Timestamp
    ) -> RemoteSigningResponse.Outcome {
        let client = event.pubkey
        lookUp(client)
        let (hasSession, session, others) = sessions.withLock {
            (
                $0.hasSession(client, now: now), $0.session(of: client, connectedAt: event.createdAt, now: now),
                $0.displaced(by: client)
            )
        }
        // A client with a session may connect as often as it likes, but not every connect is stored.
        guard !hasSession || sessions.withLock({ $0.mayWrite(now: now) }) else { return .result("ack") }
        do {
            var digest: [UInt8]?
            // Clients connect at every start, some with the secret they once had and some without. A client with a
            // session needs none.
            if let secrets, !hasSession {
                digest = try secrets.secrets().digest(matching: request.params.dropFirst().first ?? "")
                guard let digest, !registry.access.isBlocked(invitation: Hex.encode(digest)) else {
                    return .error(Self.wrongSecret)
                }
            }
            guard try registry.open(session, secret: digest, dropping: others) else { return .error(Self.wrongSecret) }
            sessions.withLock { $0.opened(session, dropping: others) }
            if !hasSession { logger.debug("A client opened a session") }
            return .result("ack")
        } catch {
            logger.error("A session could not be opened", metadata: ["error": "\(error)"])
            return .error("the session could not be opened: try again later")
        }
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
        guard sessions.withLock({ $0.mayRegister(client, now: now) }) else {
            return .error(MachineReadablePrefix.rateLimited.message("slow down"))
        }
        switch register(event) {
        case .accepted: return .result("ack")
        case .refused(let reason): return .error(reason)
        }
    }

    private func logout(_ event: Event) -> RemoteSigningResponse.Outcome {
        guard sessions.withLock({ $0.mayClose(event.pubkey, by: event.createdAt) }) else {
            return .error("this logout is older than the session")
        }
        do {
            try registry.closeRemoteSession(of: event.pubkey)
            sessions.withLock { $0.closed(event.pubkey) }
            logger.debug("A client closed its session")
            return .result("ack")
        } catch {
            logger.error("A session could not be closed", metadata: ["error": "\(error)"])
            return .error("the session could not be closed: try again later")
        }
    }

    /// Stores now and then that a session is in use.
    private func noteUse(by client: PublicKey, now: Timestamp) {
        guard let session = sessions.withLock({ $0.use(by: client, now: now) }) else { return }
        do {
            try registry.use(session)
        } catch {
            logger.error("The use of a session could not be noted", metadata: ["error": "\(error)"])
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
                    // A client whose clock is ahead may listen only for what is newer than its own request.
                    createdAt: max(now.seconds, request.createdAt),
                    tags: [["p", request.pubkey.hex]],
                    content: NIP44.encrypt(response.json, key: key, nonce: random(NIP44.nonceByteCount)),
                    by: identity
                ),
                source
            )
        } catch {
            logger.error("An answer could not be made", metadata: ["error": "\(error)"])
        }
    }

    private func passOver(_ reason: String, now: Timestamp) {
        guard let counts = refusals.withLock({ $0.add(reason, now: now) }) else { return }
        logger.notice(
            "Requests of NIP-46 are passed over",
            metadata: Logger.Metadata(uniqueKeysWithValues: counts.map { ($0.key, "\($0.value)") })
        )
    }
}

/// What a client may ask of this router (NIP-46; `register` and `me` are ours). It signs and encrypts nothing for
/// anybody.
private enum RemoteMethod: String, CaseIterable {
    case connect
    case ping
    case publicKey = "get_public_key"
    case register
    case switchRelays = "switch_relays"
    case me
    case logout

    /// For the answer to any other method.
    static let unknown = "unknown method: this router knows \(allCases.map(\.rawValue).joined(separator: ", "))"
}

/// Counts unanswered requests and says when a line in the log is due: once a minute, however long a flood is.
struct RefusalCount {
    private static let interval: Duration = .minutes(1)

    private var counts: [String: Int] = [:]
    private var loggedAt: Timestamp?

    /// Counts one. Returns the counts since the last line when one is due at `now`.
    mutating func add(_ reason: String, now: Timestamp) -> [String: Int]? {
        counts[reason, default: 0] += 1
        if let loggedAt, now - loggedAt < Self.interval, now >= loggedAt { return nil }
        loggedAt = now
        defer { counts = [:] }
        return counts
    }
}

/// Who may open NIP-46 sessions with this router, and on which relays.
package struct RemoteSigningConfiguration: Sendable {
    /// Whether a registration that comes as a plain event must be from somebody with a session.
    package var requireSession: Bool
    /// The file with the secrets that open a session, one a line; nil: no secret is asked for.
    package var secretFile: String?
    /// Relays on which we answer, our own socket among them: what `switch_relays` names.
    package var relays: [String]
    /// Whether other routers with the same registry open and close sessions as well.
    package var isShared = false

    package init(requireSession: Bool = false, secretFile: String? = nil, relays: [String] = []) {
        self.requireSession = requireSession
        self.secretFile = secretFile
        self.relays = relays
    }
}

/// Where a request came in, which is where its answer goes: a stranger on our socket must not make us publish
/// elsewhere.
package enum RequestSource: Hashable, Sendable {
    case ownSocket
    /// A relay, or a feed of one.
    case relays
}

/// Answers what an account asks about itself: gets the signed event (NIP-98) as JSON, the body, and who has the
/// session.
package typealias OwnQuestion =
    @Sendable (_ proof: String, _ body: String, _ client: PublicKey) async -> Result<String, any Error>

/// What the registry said to a registration that came through a session.
package enum RegistrationAnswer: Hashable, Sendable {
    case accepted
    /// With the text an `OK` answer would have (NIP-01).
    case refused(String)
}
