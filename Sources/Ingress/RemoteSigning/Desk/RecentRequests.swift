import Nostr

/// The requests that were taken while they were fresh, so that none is answered twice: relays repeat events, and anyone can.
struct RecentRequests {
    /// How far a request's stamp may be from now, in seconds.
    private static let tolerance: Int64 = 600
    /// For how long a request can be fresh, at most, in milliseconds.
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
        // Stamps come from outside and may be of any size.
        let (distance, overflow) = seconds.subtractingReportingOverflow(now / 1000)
        return !overflow && distance.magnitude <= UInt64(tolerance)
    }
}
