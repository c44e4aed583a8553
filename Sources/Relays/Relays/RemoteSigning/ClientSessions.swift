import Cipher
import Core
import Logging
import Nostr
import Registry
import Synchronization

/// The sessions of clients, in memory and in the registry. If several routers share a registry, the registry's state of
/// a session applies, because another router may have opened or closed it.
final class ClientSessions: Sendable {
    private static let wrongSecret = "the secret is unknown or was used by another client: ask for a new bunker:// URL"

    private let registry: Registry
    /// Nil: no secret is required.
    private let secrets: SecretSource?
    private let isShared: Bool
    private let table: Mutex<SessionTable>
    private let logger: Logger

    /// Reads the existing sessions. Throws a `RegistryStoreError` if they cannot be read, and a ``SecretFileError`` if
    /// the file of secrets cannot be used.
    init(_ configuration: RemoteSigningConfiguration, registry: Registry, now: Timestamp, logger: Logger) throws {
        let limits = configuration.limits
        self.registry = registry
        isShared = configuration.isShared
        self.logger = logger
        let digester = try ConnectSecrets.Digester(registry.keys.seeds)
        secrets = configuration.secretFile.map { SecretSource(file: SecretFile(path: $0), digester: digester) }
        if try secrets?.secrets().digests.isEmpty == true { logger.info("The secret file is empty") }
        let stored = try registry.remoteSessions(usedSince: now - limits.unused)
        table = Mutex(SessionTable(sessions: stored, limits: limits, now: now))
    }

    /// Whether to process a request. Reads memory only.
    func admit(_ request: Event, now: Timestamp) -> SessionTable.Decision {
        table.withLock { $0.admit(request.id, from: request.pubkey, madeAt: request.createdAt, now: now) }
    }

    func has(_ client: PublicKey, now: Timestamp) -> Bool {
        lookUp(client)
        return table.withLock { $0.hasSession(client, now: now) }
    }

    /// Updates a client's session, which another router may have changed.
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

    /// Notes that a session is in use, and stores that at intervals.
    func noteUse(by client: PublicKey, now: Timestamp) {
        guard let session = table.withLock({ $0.use(by: client, now: now) }) else { return }
        do {
            try registry.use(session)
        } catch {
            logger.error("Failed to save the use of a session", metadata: ["error": "\(error)"])
        }
    }

    /// Answers a client's `connect` with this secret, which may be empty.
    func open(by request: Event, secret: String, now: Timestamp) -> RemoteSigningResponse.Outcome {
        let client = request.pubkey
        lookUp(client)
        let (hasSession, session, others) = table.withLock {
            (
                $0.hasSession(client, now: now), $0.session(of: client, connectedAt: request.createdAt, now: now),
                $0.displaced(by: client)
            )
        }
        // A client with a session may connect any number of times, but not every connect is stored.
        guard !hasSession || table.withLock({ $0.mayWrite(now: now) }) else { return .result("ack") }
        do {
            var digest: [UInt8]?
            // Clients connect at every start, some with the secret of their first connect and some without. A client
            // with a session needs no secret.
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
            logger.error("Failed to open a session", metadata: ["error": "\(error)"])
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
            logger.error("Failed to close a session", metadata: ["error": "\(error)"])
            return .error("the session could not be closed: try again later")
        }
    }
}

/// The NIP-46 sessions and the rate limits of clients. Pure: it has only clients' keys, and no store, clock or socket.
/// It decides before any decryption.
struct SessionTable {
    /// Whether to process a request, decided before it is decrypted.
    enum Decision: String, Hashable {
        case admitted
        /// The timestamp is too far from now: a replay, or a client with a wrong clock.
        case stale
        case repeated
        /// The rate limit of the client, or of all clients without a session, is exceeded.
        case limited
    }

    private struct Client {
        var session: RemoteSession
        var notedAt: Timestamp
        var requests: TokenBucket
        var registrations: TokenBucket

        init(_ session: RemoteSession, limits: SessionLimits) {
            self.session = session
            notedAt = session.usedAt
            requests = limits.requests
            registrations = limits.registrations
        }
    }

    private let limits: SessionLimits
    private var clients: [PublicKey: Client] = [:]
    private var strangers: RateTable<PublicKey>
    private var allStrangers: TokenBucket
    private var writes: TokenBucket
    private var recent: RecentRequests

    /// `sessions` are those stored by an earlier process.
    init(sessions: [RemoteSession], limits: SessionLimits = SessionLimits(), now: Timestamp) {
        self.limits = limits
        strangers = limits.strangersRequests
        allStrangers = limits.allStrangersRequests
        writes = limits.writes
        recent = RecentRequests(capacity: limits.recentRequests, now: now)
        for session in sessions { clients[session.client] = Client(session, limits: limits) }
    }

    /// The number of clients without a session whose rate is remembered.
    var strangerCount: Int { strangers.count }

    func hasSession(_ client: PublicKey, now: Timestamp) -> Bool {
        guard let usedAt = clients[client]?.session.usedAt else { return false }
        return now - usedAt < limits.unused
    }

    /// Checks a request that `client` made at `seconds` since 1970.
    mutating func admit(_ id: EventID, from client: PublicKey, madeAt seconds: Int64, now: Timestamp) -> Decision {
        guard RecentRequests.isFresh(seconds, at: now) else { return .stale }
        guard !recent.contains(id) else { return .repeated }
        guard mayAsk(client, now: now) else { return .limited }
        recent.insert(id, at: now)
        return .admitted
    }

    /// Whether `client`, which has a session, may register now.
    mutating func mayRegister(_ client: PublicKey, now: Timestamp) -> Bool {
        (clients[client]?.registrations.take(at: now) ?? false) && mayWrite(now: now)
    }

    /// Whether a request of a client with a session may be written to disk now.
    mutating func mayWrite(now: Timestamp) -> Bool {
        writes.take(at: now)
    }

    /// Notes that `client` used its session. Returns the session if it must be stored.
    mutating func use(by client: PublicKey, now: Timestamp) -> RemoteSession? {
        guard var entry = clients[client] else { return nil }
        entry.session.usedAt = max(entry.session.usedAt, now)
        let isDue = entry.session.usedAt - entry.notedAt >= limits.useNoted
        if isDue { entry.notedAt = entry.session.usedAt }
        clients[client] = entry
        return isDue ? entry.session : nil
    }

    /// Returns the clients whose sessions must end so that `client` may have one: the one unused for longest, if the
    /// limit is reached.
    func displaced(by client: PublicKey) -> [PublicKey] {
        guard clients[client] == nil, clients.count >= limits.sessions else { return [] }
        let oldest = clients.min { ($0.value.session.usedAt, $0.key) < ($1.value.session.usedAt, $1.key) }
        return oldest.map { [$0.key] } ?? []
    }

    /// Adds a stored session and ends those of `others`. The client's rate limits carry over.
    mutating func opened(_ session: RemoteSession, dropping others: [PublicKey]) {
        for other in others { clients[other] = nil }
        var entry = clients[session.client] ?? Client(session, limits: limits)
        entry.session = session
        entry.notedAt = session.usedAt
        clients[session.client] = entry
    }

    /// Adds a stored session that another router may have opened.
    mutating func learn(_ session: RemoteSession) {
        if clients[session.client]?.session.openedAt == session.openedAt { return }
        opened(session, dropping: [])
    }

    /// Returns the session that `client` would have after a `connect` made at `seconds`. A late copy of an earlier one
    /// does not make it older.
    func session(of client: PublicKey, connectedAt seconds: Int64, now: Timestamp) -> RemoteSession {
        let earlier = clients[client]?.session.openedAt ?? seconds
        return RemoteSession(client: client, openedAt: max(earlier, seconds), usedAt: now)
    }

    /// Whether a `logout` made at `seconds` applies to the current session and not to an earlier one: an attacker may
    /// replay it.
    func mayClose(_ client: PublicKey, by seconds: Int64) -> Bool {
        clients[client].map { seconds >= $0.session.openedAt } ?? false
    }

    mutating func closed(_ client: PublicKey) {
        clients[client] = nil
    }

    private mutating func mayAsk(_ client: PublicKey, now: Timestamp) -> Bool {
        if hasSession(client, now: now) { return clients[client]?.requests.take(at: now) ?? false }
        return strangers.take(client, now: now) && allStrangers.take(at: now)
    }
}

/// Limits for clients, so that one client or many together cannot use up the pipeline's time. All buckets start full.
struct SessionLimits {
    /// The maximum number of sessions. For an additional one, the session unused for longest ends.
    var sessions = 10_000
    /// A session ends after this time without use. Clients renew their registrations every 30 days
    /// (contrib/docs/registration.md).
    var unused: Duration = .days(90)
    /// The maximum age of the stored last use of a session before it is stored again.
    var useNoted: Duration = .hours(1)
    /// The rate of requests of one client with a session.
    var requests = TokenBucket(capacity: 30, perSecond: 1, now: .epoch)
    /// The rate of registrations of one client with a session. The burst is the maximum number of devices of one
    /// account.
    var registrations = TokenBucket(capacity: 32, perSecond: 0.1, now: .epoch)
    /// The rate of disk writes for all clients with a session: registrations, and sessions opened again.
    var writes = TokenBucket(capacity: 200, perSecond: 50, now: .epoch)
    /// The rate of requests of one client without a session, and the number of such clients that are tracked.
    var strangersRequests = RateTable<PublicKey>(burst: 6, perSecond: 0.1, capacity: 10_000)
    /// The rate of requests of all clients without a session. During a flood from many keys new clients wait; those
    /// with a session do not.
    var allStrangersRequests = TokenBucket(capacity: 200, perSecond: 20, now: .epoch)
    /// The minimum number of requests that are remembered.
    var recentRequests = 50_000
}

/// The requests processed while they were fresh, so that none is answered twice. Relays repeat events, and attackers
/// can.
struct RecentRequests {
    /// The maximum difference between a request's timestamp and now, in seconds.
    private static let tolerance: Int64 = 600
    /// The maximum time for which a request can be fresh.
    private static let freshness: Duration = .seconds(2 * tolerance)

    /// The capacity of each of the two generations. A larger flood shortens the memory instead of growing it.
    private let capacity: Int
    private var young: Set<EventID> = []
    private var old: Set<EventID> = []
    private var turnedAt: Timestamp

    init(capacity: Int, now: Timestamp) {
        self.capacity = capacity
        turnedAt = now
    }

    func contains(_ id: EventID) -> Bool {
        young.contains(id) || old.contains(id)
    }

    mutating func insert(_ id: EventID, at now: Timestamp) {
        if young.count >= capacity || now - turnedAt >= Self.freshness || now < turnedAt {
            old = young
            young = []
            turnedAt = now
        }
        young.insert(id)
    }

    /// Whether a request made at `seconds` since 1970 is fresh at `now`.
    static func isFresh(_ seconds: Int64, at now: Timestamp) -> Bool {
        let second = now.seconds
        return (second - tolerance...second + tolerance).contains(seconds)
    }
}
