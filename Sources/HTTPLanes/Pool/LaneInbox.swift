/// Where senders on any thread leave requests for an origin's event loop. Kept under a lock.
struct LaneInbox {
    enum Arrival {
        /// The loop must be woken: nobody has done so for what lies here.
        case first
        case joined
        case closed
    }

    private var arrivals: [Exchange] = []
    private var isWakePending = false
    private var isClosed = false

    mutating func post(_ exchange: Exchange) -> Arrival {
        guard !isClosed else { return .closed }
        arrivals.append(exchange)
        guard !isWakePending else { return .joined }
        isWakePending = true
        return .first
    }

    /// Exchanges everything that came for `empty`, whose storage is used for what comes next.
    mutating func drain(into empty: inout [Exchange]) {
        isWakePending = false
        swap(&arrivals, &empty)
    }

    mutating func close() {
        isClosed = true
    }

    /// False when something has come.
    mutating func closeIfEmpty() -> Bool {
        guard arrivals.isEmpty else { return false }
        isClosed = true
        return true
    }
}
