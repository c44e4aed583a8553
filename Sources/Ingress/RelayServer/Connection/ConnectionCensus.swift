/// Counts open connections, all together and by address, so that nobody takes every place.
struct ConnectionCensus {
    enum Verdict: Equatable {
        case admitted
        /// The limit that stands against it, and whether to tell the operator, which is done once in a while.
        case refused(limit: Int, isWorthALine: Bool)
    }

    private let limits: RelayServerConfiguration.Limits
    private var total = 0
    private var byAddress: [String: Int] = [:]
    private var lines: TokenBucket

    init(limits: RelayServerConfiguration.Limits, now: Int64) {
        self.limits = limits
        self.lines = TokenBucket(capacity: 3, perSecond: 0.1, now: now)
    }

    /// Counts a connection from `address`, or refuses it. `now` is in milliseconds since 1970.
    mutating func admit(_ address: String, now: Int64) -> Verdict {
        guard total < limits.connections else {
            return .refused(limit: limits.connections, isWorthALine: lines.take(at: now))
        }
        guard Self.isLoopback(address) || byAddress[address, default: 0] < limits.connectionsPerAddress else {
            return .refused(limit: limits.connectionsPerAddress, isWorthALine: lines.take(at: now))
        }
        total += 1
        byAddress[address, default: 0] += 1
        return .admitted
    }

    /// A connection from `address` that was admitted has ended.
    mutating func leave(_ address: String) {
        total -= 1
        byAddress[address, default: 0] -= 1
        if byAddress[address] == 0 { byAddress[address] = nil }
    }

    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }
}
