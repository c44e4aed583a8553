import Core
import DequeModule

/// Requests that wait for libcurl. Accounts take turns, and so do the hosts of an account. The caller supplies the
/// time.
///
/// Hosts without a transfer go before all hosts with one; the newest goes first. So a request to another host starts as
/// soon as a slot is free, even if many hosts hang. A slow transfer gives its slot to a waiting one; slow transfers
/// have a separate limit.
struct TransferQueue {
    private var shares: FairShares
    private let slowPlaces: Int
    private var slow = 0
    /// Those with requests, waiting or in progress.
    private var accounts: [UInt32: AccountRequests] = [:]
    /// Accounts with waiting requests, in turn.
    private var turns: Deque<UInt32> = []
    private var soonest: Deadline = .distantFuture

    /// - Parameters:
    ///   - places: The maximum of transfers in progress, except slow ones.
    ///   - slowPlaces: The maximum of slow ones.
    init(places: Int, slowPlaces: Int) {
        shares = FairShares(room: places)
        self.slowPlaces = slowPlaces
    }

    var underWay: Int { shares.taken + slow }
    var isEmpty: Bool { turns.isEmpty }
    var hasSlowPlace: Bool { slow < slowPlaces }

    /// Hosts with waiting requests but none in progress.
    var idleHosts: Int { accounts.values.reduce(0) { $0 + $1.idleHosts } }

    /// No waiting request has a deadline before this.
    var soonestDeadline: Deadline { isEmpty ? .distantFuture : soonest }

    mutating func append(_ exchange: Exchange) {
        soonest = min(soonestDeadline, exchange.deadline)
        let share = exchange.request.share
        if accounts[share]?.hasWaiting != true { turns.append(share) }
        accounts[share, default: AccountRequests()].append(exchange)
    }

    /// The next request to start; nil if none may start now.
    mutating func next() -> Exchange? {
        for _ in turns.indices {
            guard let share = turns.popFirst() else { break }
            guard shares.hasRoom(for: share), let exchange = accounts[share]?.next() else {
                turns.append(share)
                continue
            }
            if accounts[share]?.hasWaiting == true { turns.append(share) }
            shares.take(share)
            return exchange
        }
        return nil
    }

    /// Notes that a started request is slow.
    mutating func slow(_ exchange: Exchange) {
        guard !exchange.isSlow, hasSlowPlace else { return }
        exchange.isSlow = true
        slow += 1
        shares.giveBack(exchange.request.share)
    }

    /// Notes that a started request has ended, with or without a response.
    mutating func ended(_ exchange: Exchange, isAnswered: Bool = false) {
        let share = exchange.request.share
        if exchange.isSlow {
            exchange.isSlow = false
            slow -= 1
        } else {
            shares.giveBack(share)
        }
        accounts[share]?.ended(exchange, isAnswered: isAnswered)
        if accounts[share]?.isEmpty == true { accounts[share] = nil }
    }

    /// Removes and returns the newest waiting request of an account to a host with requests in progress, except `host`.
    mutating func takeSurplus(of share: UInt32, except host: String) -> Exchange? {
        guard let exchange = accounts[share]?.takeSurplus(except: host) else { return nil }
        if accounts[share]?.hasWaiting == false { turns.removeAll { $0 == share } }
        return exchange
    }

    /// Removes and returns those whose deadline is `time` or earlier.
    mutating func takeDue(by time: Deadline) -> [Exchange] {
        guard soonestDeadline <= time else { return [] }
        return take { $0.takeDue(by: time) }
    }

    mutating func takeAll() -> [Exchange] {
        take { $0.takeAll() }
    }

    private mutating func take(_ some: (inout WaitingRequests) -> [Exchange]) -> [Exchange] {
        var taken: [Exchange] = []
        for share in Array(accounts.keys) {
            taken += accounts[share]?.take(some) ?? []
            if accounts[share]?.isEmpty == true { accounts[share] = nil }
        }
        turns.removeAll { accounts[$0]?.hasWaiting != true }
        soonest = accounts.values.reduce(.distantFuture) { min($0, $1.soonestDeadline) }
        return taken
    }
}

/// One account's requests by host.
private struct AccountRequests {
    private struct Host {
        var waiting = WaitingRequests(limit: .max)
        var underWay = 0
    }

    private var hosts: [String: Host] = [:]
    /// Hosts with waiting requests that had none in progress on arrival, or just responded. The newest last.
    private var idle: [String] = []
    /// The other hosts with waiting requests, in turn.
    private var turns: Deque<String> = []

    var isEmpty: Bool { hosts.isEmpty }
    var hasWaiting: Bool { !idle.isEmpty || !turns.isEmpty }
    var idleHosts: Int { idle.count }
    var soonestDeadline: Deadline { hosts.values.reduce(.distantFuture) { min($0, $1.waiting.soonestDeadline) } }

    mutating func append(_ exchange: Exchange) {
        let name = exchange.url.origin.host
        if let host = hosts[name] {
            if host.waiting.requests.isEmpty { turns.append(name) }
        } else {
            idle.append(name)
        }
        _ = hosts[name, default: Host()].waiting.append(exchange)
    }

    mutating func next() -> Exchange? {
        guard let name = idle.popLast() ?? turns.popFirst(), let exchange = hosts[name]?.waiting.next() else {
            return nil
        }
        hosts[name]?.underWay += 1
        if hosts[name]?.waiting.requests.isEmpty == false { turns.append(name) }
        return exchange
    }

    mutating func ended(_ exchange: Exchange, isAnswered: Bool) {
        let name = exchange.url.origin.host
        guard var host = hosts[name] else { return }
        host.underWay -= 1
        hosts[name] = host
        guard host.underWay == 0 else { return }
        if host.waiting.requests.isEmpty {
            hosts[name] = nil
        } else if isAnswered, let place = turns.firstIndex(of: name) {
            turns.remove(at: place)
            idle.append(name)
        }
    }

    mutating func takeSurplus(except name: String) -> Exchange? {
        guard let last = turns.last(where: { $0 != name }), let exchange = hosts[last]?.waiting.takeNewest() else {
            return nil
        }
        tidyUp()
        return exchange
    }

    mutating func take(_ some: (inout WaitingRequests) -> [Exchange]) -> [Exchange] {
        var taken: [Exchange] = []
        for name in Array(hosts.keys) {
            guard var waiting = hosts[name]?.waiting else { continue }
            taken += some(&waiting)
            hosts[name]?.waiting = waiting
        }
        tidyUp()
        return taken
    }

    /// Removes hosts without requests, and removes those without waiting requests from the lines.
    private mutating func tidyUp() {
        hosts = hosts.filter { $0.value.underWay > 0 || !$0.value.waiting.requests.isEmpty }
        idle.removeAll { hosts[$0]?.waiting.requests.isEmpty ?? true }
        turns.removeAll { hosts[$0]?.waiting.requests.isEmpty ?? true }
    }
}

/// Divides a common capacity: each account may use as much as is still free. So a single account gets half of it and
/// two get a third each. A new account always finds some capacity (dynamic thresholds, Choudhury and Hahne 1998).
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
