import Cipher
import Foundation
import Logging
import Nostr
import Registry
import Synchronization

/// Holds the NIP-46 sessions of clients with this router: what seed 004 calls authentication by NIP-46.
///
/// Registering is what a session is for: a registration that comes through one need not touch a public relay. Sessions are
/// opened by clients with a `bunker://` URL; `nostrconnect://`, with which a client asks a signer to make the first step, is not
/// supported, since a router has no user who could show it one. Answers a request on the thread it comes on.
package final class RemoteSigningService: Sendable {
    /// A registration with its tags and an encrypted content, spelled as JSON within JSON, and then some.
    private static let payloadLimit = 131_072

    let configuration: RemoteSigningConfiguration
    let identity: KeyPair
    let registry: Registry
    /// Nil: no secret is asked for.
    let secrets: SecretSource?
    /// The answer to `switch_relays`.
    let relays: String
    private let reply: @Sendable (Event, RequestSource) -> Void
    private let now: @Sendable () -> Int64
    private let random: RandomBytes
    let logger: Logger
    let desk: Mutex<SessionDesk>
    private let refusals = Mutex(RefusalCount())

    /// Reads the sessions there are. `reply` publishes an answer where a client may listen that asked from there; `now` is in
    /// milliseconds since 1970.
    ///
    /// Throws a `RegistryStoreError` when the sessions cannot be read, and a ``SecretFileError`` when the configured file of
    /// secrets cannot be used.
    package convenience init(
        configuration: RemoteSigningConfiguration,
        identity: KeyPair,
        registry: Registry,
        reply: @escaping @Sendable (Event, RequestSource) -> Void,
        now: @escaping @Sendable () -> Int64,
        logger: Logger
    ) throws {
        try self.init(
            configuration: configuration,
            identity: identity,
            registry: registry,
            limits: SessionLimits(),
            reply: reply,
            now: now,
            logger: logger
        )
    }

    init(
        configuration: RemoteSigningConfiguration,
        identity: KeyPair,
        registry: Registry,
        limits: SessionLimits,
        reply: @escaping @Sendable (Event, RequestSource) -> Void,
        now: @escaping @Sendable () -> Int64,
        random: @escaping RandomBytes = SecureRandom.bytes,
        logger: Logger
    ) throws {
        self.configuration = configuration
        self.identity = identity
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // NIP-46: null where nothing is to change.
        relays =
            configuration.relays.isEmpty
            ? "null" : String(decoding: try encoder.encode(configuration.relays), as: UTF8.self)
        self.registry = registry
        self.reply = reply
        self.now = now
        self.random = random
        self.logger = logger
        let digester = try ConnectSecrets.Digester(identity: identity.secret)
        secrets = configuration.secretFile.map { SecretSource(file: SecretFile(path: $0), digester: digester) }
        if try secrets?.secrets().isEmpty == true { logger.info("No secret opens a session yet") }
        let sessions = try registry.remoteSessions(usedSince: now() - limits.unused)
        desk = Mutex(SessionDesk(sessions: sessions, limits: limits, now: now()))
    }

    /// Takes a request (kind 24133) whose signature was verified, and answers it before this returns. Requests that are
    /// repeated, not from around now, too many, or not meant for us are passed over.
    ///
    /// `register` takes the registration that a request carries: it verifies and keeps it, or says why not.
    package func receive(_ event: Event, from source: RequestSource, register: (Event) -> RegistrationAnswer) {
        guard event.kind == .remoteSigning, event.pubkey != identity.publicKey,
            event.mentionedKeys.contains(identity.publicKey)
        else { return }
        let now = now()
        let admission = desk.withLock {
            $0.admit(event.id, from: event.pubkey, madeAt: event.createdAt, now: now)
        }
        guard admission == .admitted else { return passOver(admission.rawValue, now: now) }
        guard let key = try? ConversationKey(secret: identity.secret, public: event.pubkey),
            let text = try? NIP44.decryptText(event.content, key: key, limit: Self.payloadLimit)
        else { return passOver("unreadable", now: now) }
        let response: RemoteSigningResponse
        do throws(RemoteSigningRequestError) {
            let request = try RemoteSigningRequest(json: text)
            response = RemoteSigningResponse(id: request.id, answer(request, in: event, now: now, register: register))
        } catch {
            guard let id = error.id else { return passOver("unreadable", now: now) }
            response = RemoteSigningResponse(id: id, .error("\(error)"))
        }
        send(response, to: event, from: source, key: key, now: now)
    }

    /// Whether a registration that came as a plain event, and not through a session, may be taken: where sessions are required,
    /// only if its author, or the root it names as its own (seed 004), has one.
    package func admits(_ registration: Event) -> Bool {
        guard configuration.requireSession else { return true }
        let root = registration.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        let now = now()
        for key in [registration.pubkey, root].compactMap({ $0 }) where desk.withLock({ $0.hasSession(key, now: now) })
        {
            noteUse(by: key, now: now)
            return true
        }
        return false
    }

    /// Writes down, once in a while, that a session is in use.
    func noteUse(by client: PublicKey, now: Int64) {
        guard let session = desk.withLock({ $0.use(by: client, now: now) }) else { return }
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
        key: ConversationKey,
        now: Int64
    ) {
        do {
            reply(
                try Event.signed(
                    kind: .remoteSigning,
                    // A client whose clock is ahead may listen only for what is newer than its own request.
                    createdAt: max(now / 1000, request.createdAt),
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

    private func passOver(_ reason: String, now: Int64) {
        guard let counts = refusals.withLock({ $0.add(reason, now: now) }) else { return }
        logger.notice(
            "Requests of NIP-46 are passed over",
            metadata: Logger.Metadata(uniqueKeysWithValues: counts.map { ($0.key, "\($0.value)") })
        )
    }
}
