/// The origins that have connections, bounded: which one may come, and which goes for it. Knows no clock: times are
/// milliseconds and come from outside.
struct OriginTable {
    private(set) var origins: [LaneRoute: OriginLanes] = [:]
    /// Those that do what they still have.
    private(set) var leaving: [ObjectIdentifier: OriginLanes] = [:]
    private var guarded = 0
    private let limit: Int
    private let idleTimeout: Int64

    /// - Parameters:
    ///   - limit: Origins at most; users' may be three quarters of it.
    ///   - idleTimeout: Without requests for so long, one is forgotten when another comes.
    init(limit: Int, idleTimeout: Int64) {
        self.limit = limit
        self.idleTimeout = idleTimeout
    }

    subscript(route: LaneRoute) -> OriginLanes? { origins[route] }

    /// Whether there is room for one more along `route`; `leaves` are those that go for it, who must be told.
    mutating func makeRoom(for route: LaneRoute, now: Int64) -> (hasRoom: Bool, leaves: [OriginLanes]) {
        var leaves = origins.values.filter { now - $0.lastRequest >= idleTimeout }
        for lanes in leaves { beginLeaving(lanes) }
        let isBeyondShare = route.isGuarded && guarded >= max(1, limit * 3 / 4)
        guard isBeyondShare || origins.count >= limit else { return (true, leaves) }
        // Users' origins give way to each other and to the operator's, never the other way round.
        let candidates = origins.values.filter { $0.route.isGuarded || !route.isGuarded }
        guard let stalest = candidates.min(by: { $0.lastRequest < $1.lastRequest }),
            now - stalest.lastRequest >= Self.leavesWhenCrowded
        else { return (false, leaves) }
        beginLeaving(stalest)
        leaves.append(stalest)
        return (true, leaves)
    }

    mutating func add(_ lanes: OriginLanes) {
        origins[lanes.route] = lanes
        if lanes.route.isGuarded { guarded += 1 }
    }

    /// Takes out those of `scope`, who must be told to leave.
    mutating func takeOut(_ scope: ConnectionScope) -> [OriginLanes] {
        let leaves = origins.values.filter { $0.route.scope == scope }
        for lanes in leaves { beginLeaving(lanes) }
        return leaves
    }

    /// Its end has come.
    mutating func forget(_ lanes: OriginLanes) {
        leaving[ObjectIdentifier(lanes)] = nil
        if origins[lanes.route] === lanes { remove(lanes) }
    }

    private mutating func beginLeaving(_ lanes: OriginLanes) {
        remove(lanes)
        leaving[ObjectIdentifier(lanes)] = lanes
    }

    private mutating func remove(_ lanes: OriginLanes) {
        origins[lanes.route] = nil
        if lanes.route.isGuarded { guarded -= 1 }
    }

    /// Without a request for so long, one gives way where there are too many; in milliseconds.
    static let leavesWhenCrowded: Int64 = 60_000
}
