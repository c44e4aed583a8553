import DequeModule
import Units

/// Requests that wait for libcurl, by account, in turn. Knows no clock.
///
/// A transfer that takes long leaves its place to one that waits: hosts that never respond would else hold up an account's
/// others. The number of such transfers has a limit of its own.
struct TransferQueue {
    private var shares: FairShares
    private let slowPlaces: Int
    private var slow = 0
    private var waiting: [UInt32: WaitingRequests] = [:]
    /// Accounts with waiting requests, in turn.
    private var turns: Deque<UInt32> = []

    /// - Parameters:
    ///   - places: The most transfers under way, except slow ones.
    ///   - slowPlaces: The most slow ones.
    init(places: Int, slowPlaces: Int) {
        shares = FairShares(room: places)
        self.slowPlaces = slowPlaces
    }

    var underWay: Int { shares.taken + slow }
    var isEmpty: Bool { turns.isEmpty }
    var hasSlowPlace: Bool { slow < slowPlaces }

    /// No request waiting has a deadline before this.
    var soonestDeadline: Deadline { waiting.values.reduce(.distantFuture) { min($0, $1.soonestDeadline) } }

    mutating func append(_ exchange: Exchange) {
        let share = exchange.request.share
        // The limit was checked before.
        if waiting[share]?.append(exchange) == nil {
            waiting[share] = WaitingRequests(limit: .max)
            _ = waiting[share]?.append(exchange)
            turns.append(share)
        }
    }

    /// The next request to begin; nil when none may begin now.
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

    /// Notes that a request that began takes long.
    mutating func slow(_ exchange: Exchange) {
        guard !exchange.isSlow, hasSlowPlace else { return }
        exchange.isSlow = true
        slow += 1
        shares.giveBack(exchange.request.share)
    }

    /// Notes that a request that began has ended.
    mutating func ended(_ exchange: Exchange) {
        if exchange.isSlow {
            exchange.isSlow = false
            slow -= 1
        } else {
            shares.giveBack(exchange.request.share)
        }
    }

    /// Takes out those whose deadline is `time` or earlier.
    mutating func takeDue(by time: Deadline) -> [Exchange] {
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

/// Divides a common capacity: each account may use as much as is still free. So one alone gets half of it, two a third
/// each, and however many fill it, there is space for one more that has nothing yet (dynamic thresholds, Choudhury and
/// Hahne 1998).
struct FairShares {
    let room: Int
    private(set) var taken = 0
    private var takenBy: [UInt32: Int] = [:]

    init(room: Int) {
        self.room = room
    }

    func hasRoom(for share: UInt32) -> Bool { takenBy[share, default: 0] < room - taken }

    mutating func take(_ share: UInt32) {
        taken += 1
        takenBy[share, default: 0] += 1
    }

    mutating func giveBack(_ share: UInt32) {
        guard let count = takenBy[share] else { return }
        taken -= 1
        takenBy[share] = count == 1 ? nil : count - 1
    }
}
