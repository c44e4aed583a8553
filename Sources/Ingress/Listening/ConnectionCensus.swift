/// Counts open connections, all together and by address, so that nobody takes every place. Of IPv6 addresses only the first half
/// counts: everybody has the rest.
package struct ConnectionCensus: Sendable {
    package enum Verdict: Equatable, Sendable {
        case admitted
        /// The limit that stands against it, and whether to tell the operator, which is done once in a while.
        case refused(limit: Int, isWorthALine: Bool)
    }

    private let limit: Int
    private let limitPerAddress: Int
    private var total = 0
    private var byAddress: [String: Int] = [:]
    private var lines: TokenBucket

    /// `limit` is for all connections together, `limitPerAddress` for those from one address. `now` is in milliseconds since 1970.
    package init(limit: Int, limitPerAddress: Int, now: Int64) {
        self.limit = limit
        self.limitPerAddress = limitPerAddress
        self.lines = TokenBucket(capacity: 3, perSecond: 0.1, now: now)
    }

    /// Counts a connection from `address`, or refuses it. `now` is in milliseconds since 1970. A proxy, and this machine, where
    /// one may be, stand for many and have no limit of their own.
    package mutating func admit(_ address: String, isProxy: Bool = false, now: Int64) -> Verdict {
        guard total < limit else {
            return .refused(limit: limit, isWorthALine: lines.take(at: now))
        }
        let owner = AddressOwner.of(address)
        guard isProxy || LoopbackAddress.contains(address) || byAddress[owner, default: 0] < limitPerAddress else {
            return .refused(limit: limitPerAddress, isWorthALine: lines.take(at: now))
        }
        total += 1
        byAddress[owner, default: 0] += 1
        return .admitted
    }

    /// A connection from `address` that was admitted has ended.
    package mutating func leave(_ address: String) {
        let owner = AddressOwner.of(address)
        total -= 1
        byAddress[owner, default: 0] -= 1
        if byAddress[owner] == 0 { byAddress[owner] = nil }
    }
}
