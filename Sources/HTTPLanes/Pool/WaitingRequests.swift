import DequeModule

/// What waits for a stream, first come first served, bounded. Knows no clock: times are milliseconds and come from outside.
struct WaitingRequests {
    private var requests: Deque<Exchange> = []
    private let limit: Int
    /// No request waiting has a deadline before this.
    private(set) var soonestDeadline: Int64 = .max

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    /// False when there is no room.
    mutating func append(_ exchange: Exchange) -> Bool {
        guard requests.count < limit else { return false }
        requests.append(exchange)
        soonestDeadline = min(soonestDeadline, exchange.deadline)
        return true
    }

    /// Puts back, in front, what was taken before or what a server refused. There is always room for it.
    mutating func putBack(_ exchange: Exchange) {
        requests.prepend(exchange)
        soonestDeadline = min(soonestDeadline, exchange.deadline)
    }

    mutating func next() -> Exchange? {
        requests.popFirst()
    }

    /// Takes out those whose deadline is `time` or earlier.
    mutating func takeDue(by time: Int64) -> [Exchange] {
        guard soonestDeadline <= time else { return [] }
        var due: [Exchange] = []
        var later: Deque<Exchange> = []
        soonestDeadline = .max
        for exchange in requests {
            if exchange.deadline <= time {
                due.append(exchange)
            } else {
                later.append(exchange)
                soonestDeadline = min(soonestDeadline, exchange.deadline)
            }
        }
        requests = later
        return due
    }

    mutating func takeAll() -> [Exchange] {
        defer {
            requests.removeAll()
            soonestDeadline = .max
        }
        return Array(requests)
    }
}
