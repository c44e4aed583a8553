import Nostr

/// Limits for clients, so that neither one of them nor many together take the pipeline's time from the others.
struct SessionLimits {
    /// Sessions at the same time; for a further one the session that was unused for longest ends.
    var sessions = 10_000
    /// A session ends after this time without use, in milliseconds: clients register anew every 30 days (seed 004,
    /// section 3).
    var unused: Int64 = 90 * 86_400_000
    /// How old the stored time of a session's last use may be before it is stored again, in milliseconds.
    var useNoted: Int64 = 3_600_000
    /// Requests of one client that has a session.
    var requests = RateLimit(burst: 30, interval: 1_000)
    /// Registrations of one client that has a session: as many at once as one account may have devices.
    var registrations = RateLimit(burst: 32, interval: 10_000)
    /// Writes to disk by all clients with a session: registrations, and sessions opened anew.
    var writes = RateLimit(burst: 200, interval: 20)
    /// Requests of one client without a session.
    var strangersRequests = RateLimit(burst: 6, interval: 10_000)
    /// Requests of all clients without a session. Under a flood from many keys new clients wait; those with a session
    /// do not.
    var allStrangersRequests = RateLimit(burst: 200, interval: 50)
    /// Clients without a session whose rate is remembered.
    var strangers = 10_000
    /// Requests that are remembered at least.
    var recentRequests = 50_000
}

/// Lets a burst pass and then one every so often. Needs one number for each client.
struct RateLimit {
    /// When all credit is back, in milliseconds on the caller's clock.
    typealias Debt = Int64

    /// How many may come at once.
    let burst: Int64
    /// Milliseconds for each further one.
    let interval: Int64

    /// Whether one more may pass at `now`, and notes it. A clock that jumps back delays nothing for longer than the
    /// burst.
    func take(_ debt: inout Debt, at now: Int64) -> Bool {
        let most = now + burst * interval
        debt = min(debt, most)
        let after = max(now, debt) + interval
        guard after <= most else { return false }
        debt = after
        return true
    }
}

/// The requests that were taken while they were fresh, so that none is answered twice: relays repeat events, and anyone
/// can.
struct RecentRequests {
    /// How far a request's stamp may be from now, in seconds.
    private static let tolerance: Int64 = 600
    /// The longest time that a request can be fresh, in milliseconds.
    private static let freshness = 2 * tolerance * 1000

    /// How many one of the two generations holds; a flood of more makes the memory shorter, not larger.
    private let capacity: Int
    private var young: Set<EventID> = []
    private var old: Set<EventID> = []
    private var turnedAt: Int64

    init(capacity: Int, now: Int64) {
        self.capacity = capacity
        turnedAt = now
    }

    func contains(_ id: EventID) -> Bool {
        young.contains(id) || old.contains(id)
    }

    mutating func insert(_ id: EventID, at now: Int64) {
        if young.count >= capacity || now - turnedAt >= Self.freshness || now < turnedAt {
            old = young
            young = []
            turnedAt = now
        }
        young.insert(id)
    }

    /// Whether a request made at `seconds` since 1970 is fresh at `now`, in milliseconds since then.
    static func isFresh(_ seconds: Int64, at now: Int64) -> Bool {
        // Timestamps come from clients and may be of any size.
        let (distance, overflow) = seconds.subtractingReportingOverflow(now / 1000)
        return !overflow && distance.magnitude <= UInt64(tolerance)
    }
}
