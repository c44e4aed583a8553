import Nostr
import RateLimits
import Registry
import Units

/// The NIP-46 sessions, and how often each client may ask. Knows no key but those of clients, no store, no clock and no
/// socket. It decides before anything is decrypted.
struct SessionTable {
    /// The verdict on a request before it is decrypted.
    enum Admission: String, Hashable {
        case admitted
        /// Not from around now: a replay, or a client whose clock is wrong.
        case stale
        case repeated
        /// The client, or all without a session together, ask more than they may.
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

    /// `sessions` are those that an earlier process wrote down.
    init(sessions: [RemoteSession], limits: SessionLimits = SessionLimits(), now: Timestamp) {
        self.limits = limits
        strangers = limits.strangersRequests
        allStrangers = limits.allStrangersRequests
        writes = limits.writes
        recent = RecentRequests(capacity: limits.recentRequests, now: now)
        for session in sessions { clients[session.client] = Client(session, limits: limits) }
    }

    /// Clients without a session whose rate is remembered.
    var strangerCount: Int { strangers.count }

    func hasSession(_ client: PublicKey, now: Timestamp) -> Bool {
        guard let usedAt = clients[client]?.session.usedAt else { return false }
        return now - usedAt < limits.unused
    }

    /// Checks a request that `client` made at `seconds` since 1970.
    mutating func admit(_ id: EventID, from client: PublicKey, madeAt seconds: Int64, now: Timestamp) -> Admission {
        guard RecentRequests.isFresh(seconds, at: now) else { return .stale }
        guard !recent.contains(id) else { return .repeated }
        guard mayAsk(client, now: now) else { return .limited }
        recent.insert(id, at: now)
        return .admitted
    }

    /// Whether `client`, who has a session, may register now.
    mutating func mayRegister(_ client: PublicKey, now: Timestamp) -> Bool {
        (clients[client]?.registrations.take(at: now) ?? false) && mayWrite(now: now)
    }

    /// Whether something that a client with a session wants may be written to disk now.
    mutating func mayWrite(now: Timestamp) -> Bool {
        writes.take(at: now)
    }

    /// Notes that `client` used its session. Returns the session if that is to be stored.
    mutating func use(by client: PublicKey, now: Timestamp) -> RemoteSession? {
        guard var entry = clients[client] else { return nil }
        entry.session.usedAt = max(entry.session.usedAt, now)
        let isDue = entry.session.usedAt - entry.notedAt >= limits.useNoted
        if isDue { entry.notedAt = entry.session.usedAt }
        clients[client] = entry
        return isDue ? entry.session : nil
    }

    /// Clients whose sessions must end so that `client` may have one: the one unused for longest, when all places are
    /// taken.
    func displaced(by client: PublicKey) -> [PublicKey] {
        guard clients[client] == nil, clients.count >= limits.sessions else { return [] }
        let oldest = clients.min { ($0.value.session.usedAt, $0.key) < ($1.value.session.usedAt, $1.key) }
        return oldest.map { [$0.key] } ?? []
    }

    /// A session is on disk; those of `others` have ended. What the client may still ask carries over.
    mutating func opened(_ session: RemoteSession, dropping others: [PublicKey]) {
        for other in others { clients[other] = nil }
        var entry = clients[session.client] ?? Client(session, limits: limits)
        entry.session = session
        entry.notedAt = session.usedAt
        clients[session.client] = entry
    }

    /// A session is on disk, which another router may have opened.
    mutating func learn(_ session: RemoteSession) {
        if clients[session.client]?.session.openedAt == session.openedAt { return }
        opened(session, dropping: [])
    }

    /// The session that `client` would have by a `connect` of `seconds`: a late copy of an earlier one does not make it
    /// older.
    func session(of client: PublicKey, connectedAt seconds: Int64, now: Timestamp) -> RemoteSession {
        let earlier = clients[client]?.session.openedAt ?? seconds
        return RemoteSession(client: client, openedAt: max(earlier, seconds), usedAt: now)
    }

    /// Whether a `logout` of `seconds` means the session there is, and not an earlier one: somebody may have kept a
    /// copy of that logout.
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
