import DequeModule

/// What waits for libcurl, by share: whoever has least under way waits for nobody. Knows no clock: times are milliseconds
/// and come from outside.
struct TransferQueue {
    private var shares: FairShares
    private var waiting: [UInt32: WaitingRequests] = [:]
    /// Shares with something that waits, in turn.
    private var turns: Deque<UInt32> = []

    /// - Parameter places: Transfers under way at most.
    init(places: Int) {
        shares = FairShares(room: places)
    }

    var underWay: Int { shares.taken }

    /// No request waiting has a deadline before this.
    var soonestDeadline: Int64 { waiting.values.reduce(.max) { min($0, $1.soonestDeadline) } }

    mutating func append(_ exchange: Exchange) {
        let share = exchange.request.share
        // How much may wait is decided before.
        if waiting[share]?.append(exchange) == nil {
            waiting[share] = WaitingRequests(limit: .max)
            _ = waiting[share]?.append(exchange)
            turns.append(share)
        }
    }

    /// The next one to begin; nil when none may begin now.
    mutating func next() -> Exchange? {
        for _ in turns.indices {
            guard let share = turns.popFirst() else { break }
            guard shares.hasRoom(for: share), let exchange = waiting[share]?.next() else {
                turns.append(share)
                continue
            }
            if waiting[share]?.isEmpty == true {
                waiting[share] = nil
            } else {
                turns.append(share)
            }
            shares.take(share)
            return exchange
        }
        return nil
    }

    /// One that began is over.
    mutating func ended(_ exchange: Exchange) {
        shares.giveBack(exchange.request.share)
    }

    /// Takes out those whose deadline is `time` or earlier.
    mutating func takeDue(by time: Int64) -> [Exchange] {
        take { $0.takeDue(by: time) }
    }

    mutating func takeAll() -> [Exchange] {
        take { $0.takeAll() }
    }

    private mutating func take(_ some: (inout WaitingRequests) -> [Exchange]) -> [Exchange] {
        var taken: [Exchange] = []
        for share in Array(waiting.keys) {
            guard var requests = waiting[share] else { continue }
            taken += some(&requests)
            waiting[share] = requests.isEmpty ? nil : requests
        }
        turns.removeAll { waiting[$0] == nil }
        return taken
    }
}
