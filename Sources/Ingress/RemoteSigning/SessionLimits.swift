import Nostr
import RateLimits
import Units

/// Limits for clients, so that neither one of them nor many together take the pipeline's time from the others. Buckets
/// are full, as each client's is at first.
struct SessionLimits {
    /// Sessions at the same time; for a further one the session that was unused for longest ends.
    var sessions = 10_000
    /// A session ends after this time without use: clients register anew every 30 days (seed 004, section 3).
    var unused: Duration = .days(90)
    /// How old the stored time of a session's last use may be before it is stored again.
    var useNoted: Duration = .hours(1)
    /// Requests of one client that has a session.
    var requests = TokenBucket(capacity: 30, perSecond: 1, now: .epoch)
    /// Registrations of one client that has a session: as many at once as one account may have devices.
    var registrations = TokenBucket(capacity: 32, perSecond: 0.1, now: .epoch)
    /// Writes to disk by all clients with a session: registrations, and sessions opened anew.
    var writes = TokenBucket(capacity: 200, perSecond: 50, now: .epoch)
    /// Requests of one client without a session; of so many clients the rate is remembered.
    var strangersRequests = RateTable<PublicKey>(burst: 6, perSecond: 0.1, capacity: 10_000)
    /// Requests of all clients without a session. Under a flood from many keys new clients wait; those with a session
    /// do not.
    var allStrangersRequests = TokenBucket(capacity: 200, perSecond: 20, now: .epoch)
    /// Requests that are remembered at least.
    var recentRequests = 50_000
}

/// The requests that were taken while they were fresh, so that none is answered twice: relays repeat events, and anyone
/// can.
struct RecentRequests {
    /// How far a request's stamp may be from now, in seconds.
    private static let tolerance: Int64 = 600
    /// The longest time that a request can be fresh.
    private static let freshness: Duration = .seconds(2 * tolerance)

    /// How many one of the two generations holds; a flood of more makes the memory shorter, not larger.
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
