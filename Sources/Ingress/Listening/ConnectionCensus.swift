import RateLimits
import Units

/// Counts open connections altogether, by client and by the networks that clients lie in, so that nobody takes every
/// place.
package struct ConnectionCensus: Sendable {
    package enum Verdict: Equatable, Sendable {
        case admitted
        /// The limit that refuses it, and whether to log that, which is done once in a while.
        case refused(limit: Int, isWorthALine: Bool)
    }

    /// Who has no place left.
    package enum Obstacle: Hashable, Sendable {
        case all
        /// One client, by its own connections.
        case client(ClientAddress)
        /// A network, by the connections of all its clients.
        case network(ClientAddress)
    }

    private let limit: Int
    private let limitPerClient: Int
    private var total = 0
    private var counts: [ClientAddress: Int] = [:]
    private var lines: TokenBucket

    /// `limit` is for all connections together, `limitPerAddress` for those of one client.
    package init(limit: Int, limitPerAddress: Int, now: Timestamp) {
        self.limit = limit
        self.limitPerClient = limitPerAddress
        self.lines = TokenBucket(capacity: 3, perSecond: 0.1, now: now)
    }

    /// Whether there is a place left of so many beyond the limit.
    func hasRoom(beyond reserve: Int) -> Bool { total < limit + reserve }

    /// What refuses one more connection of `client`, if anything. Unknown clients have no limit of their own: proxies,
    /// and this machine, which may be one, stand for many.
    package func obstacle(to client: ClientAddress?) -> Obstacle? {
        obstacle(toOneOfThese: client) ?? (total < limit ? nil : .all)
    }

    /// The same for a connection that is already counted and whose client becomes known only now.
    package func obstacle(toOneOfThese client: ClientAddress?) -> Obstacle? {
        guard let client, !client.isLoopback else { return nil }
        guard counts[client, default: 0] < limitPerClient else { return .client(client) }
        for network in ClientAddress.Network.allCases {
            guard let address = client.network(network) else { continue }
            if counts[address, default: 0] >= limit(of: network) { return .network(address) }
        }
        return nil
    }

    package mutating func refusal(by obstacle: Obstacle, now: Timestamp) -> Verdict {
        let limit =
            switch obstacle {
            case .all: limit
            case .client: limitPerClient
            case .network(let address): ClientAddress.Network.allCases.first { address.is($0) }.map(limit(of:)) ?? limit
            }
        return .refused(limit: limit, isWorthALine: lines.take(at: now))
    }

    private func limit(of network: ClientAddress.Network) -> Int {
        max(limitPerClient, min(limitPerClient.multipliedWithoutOverflow(by: network.allowance), limit / network.share))
    }

    /// Counts a connection regardless of limits.
    package mutating func add(_ client: ClientAddress?) {
        total += 1
        name(client, by: 1)
    }

    package mutating func remove(_ client: ClientAddress?) {
        total -= 1
        name(client, by: -1)
    }

    /// Notes that a counted connection belongs to `client`.
    package mutating func name(_ client: ClientAddress?) { name(client, by: 1) }

    /// The number of connections of the client and its neighbours.
    package func crowd(around client: ClientAddress?) -> Int {
        client.map { counts[$0.network(.bits48) ?? $0, default: 0] } ?? 0
    }

    private mutating func name(_ client: ClientAddress?, by change: Int) {
        guard let client, !client.isLoopback else { return }
        for address in [client] + ClientAddress.Network.allCases.compactMap(client.network) {
            let count = counts[address, default: 0] + change
            counts[address] = count == 0 ? nil : count
        }
    }
}

extension Int {
    fileprivate func multipliedWithoutOverflow(by factor: Int) -> Int {
        let (product, isOverflow) = multipliedReportingOverflow(by: factor)
        return isOverflow ? .max : product
    }
}
