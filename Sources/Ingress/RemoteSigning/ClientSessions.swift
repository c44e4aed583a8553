import Cipher
import Logging
import Nostr
import Registry
import Synchronization
import Units

/// The sessions of clients, in memory and in the registry. Where several routers share a registry, what it says of a
/// session counts, since another router may have opened or closed it.
final class ClientSessions: Sendable {
    private static let wrongSecret = "the secret is unknown or was used by another client: ask for a new bunker:// URL"

    private let registry: Registry
    /// Nil: no secret is asked for.
    private let secrets: SecretSource?
    private let isShared: Bool
    private let table: Mutex<SessionTable>
    private let logger: Logger

    /// Reads the existing sessions. Throws a `RegistryStoreError` if they cannot be read, and a ``SecretFileError`` if
    /// the file of secrets cannot be used.
    init(
        registry: Registry,
        secretFile: String?,
        isShared: Bool,
        limits: SessionLimits,
        now: Timestamp,
        logger: Logger
    ) throws {
        self.registry = registry
        self.isShared = isShared
        self.logger = logger
        let digester = try ConnectSecrets.Digester(registry.keys.seeds)
        secrets = secretFile.map { SecretSource(file: SecretFile(path: $0), digester: digester) }
        if try secrets?.secrets().isEmpty == true { logger.info("No secret opens a session yet") }
        let stored = try registry.remoteSessions(usedSince: now - limits.unused)
        table = Mutex(SessionTable(sessions: stored, limits: limits, now: now))
    }

    /// Whether to look at a request at all. Reads memory only.
    func admit(_ request: Event, now: Timestamp) -> SessionTable.Admission {
        table.withLock { $0.admit(request.id, from: request.pubkey, madeAt: request.createdAt, now: now) }
    }

    func has(_ client: PublicKey, now: Timestamp) -> Bool {
        lookUp(client)
        return table.withLock { $0.hasSession(client, now: now) }
    }

    /// Takes note of what became of a client's session elsewhere.
    private func lookUp(_ client: PublicKey) {
        guard isShared else { return }
        if let found = try? registry.remoteSession(of: client) {
            table.withLock { $0.learn(found) }
        } else {
            table.withLock { $0.closed(client) }
        }
    }

    /// Whether a client with a session may register now.
    func mayRegister(_ client: PublicKey, now: Timestamp) -> Bool {
        table.withLock { $0.mayRegister(client, now: now) }
    }

    /// Stores now and then that a session is in use.
    func noteUse(by client: PublicKey, now: Timestamp) {
        guard let session = table.withLock({ $0.use(by: client, now: now) }) else { return }
        do {
            try registry.use(session)
        } catch {
            logger.error("The use of a session could not be noted", metadata: ["error": "\(error)"])
        }
    }

    /// Answers a client's `connect`, which came with this secret or an empty one.
    func open(by request: Event, secret: String, now: Timestamp) -> RemoteSigningResponse.Outcome {
        let client = request.pubkey
        lookUp(client)
        let (hasSession, session, others) = table.withLock {
            (
                $0.hasSession(client, now: now), $0.session(of: client, connectedAt: request.createdAt, now: now),
                $0.displaced(by: client)
            )
        }
        // A client with a session may connect as often as it likes, but not every connect is stored.
        guard !hasSession || table.withLock({ $0.mayWrite(now: now) }) else { return .result("ack") }
        do {
            var digest: [UInt8]?
            // Clients connect at every start, some with the secret they once had and some without. A client with a
            // session needs none.
            if let secrets, !hasSession {
                digest = try secrets.secrets().digest(matching: secret)
                guard let digest, !registry.access.isBlocked(invitation: Hex.encode(digest)) else {
                    return .error(Self.wrongSecret)
                }
            }
            guard try registry.open(session, secret: digest, dropping: others) else { return .error(Self.wrongSecret) }
            table.withLock { $0.opened(session, dropping: others) }
            if !hasSession { logger.debug("A client opened a session") }
            return .result("ack")
        } catch {
            logger.error("A session could not be opened", metadata: ["error": "\(error)"])
            return .error("the session could not be opened: try again later")
        }
    }

    /// Answers a client's `logout`.
    func close(by request: Event) -> RemoteSigningResponse.Outcome {
        guard table.withLock({ $0.mayClose(request.pubkey, by: request.createdAt) }) else {
            return .error("this logout is older than the session")
        }
        do {
            try registry.closeRemoteSession(of: request.pubkey)
            table.withLock { $0.closed(request.pubkey) }
            logger.debug("A client closed its session")
            return .result("ack")
        } catch {
            logger.error("A session could not be closed", metadata: ["error": "\(error)"])
            return .error("the session could not be closed: try again later")
        }
    }
}
