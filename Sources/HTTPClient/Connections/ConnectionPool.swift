import Core
import NIOCore
import Synchronization

/// The connections to busy origins, by route.
final class ConnectionPool: Sendable {
    private struct State {
        var table: OriginTable
        var isShutDown = false
    }

    /// State shared with the origins, which leave from their event loops.
    private final class Shared: Sendable {
        let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }
    }

    private enum Place {
        case found(OriginConnections)
        case new(OriginConnections, leaves: [OriginConnections])
        case noRoom(leaves: [OriginConnections])
        case shutDown
    }

    private let group: any EventLoopGroup
    private let surroundings: OriginConnections.PoolContext
    private let now: @Sendable () -> Deadline
    private let shared: Shared

    /// - Parameters:
    ///   - group: Runs the connections.
    ///   - surroundings: Shared by the origins; the pool replaces `left`.
    ///   - originLimit: The maximum of origins; requests to more use no HTTP/2.
    ///   - now: The event loops' clock.
    init(
        group: any EventLoopGroup,
        surroundings: OriginConnections.PoolContext,
        originLimit: Int,
        now: @escaping @Sendable () -> Deadline = Deadline.now
    ) {
        let shared = Shared(
            State(table: OriginTable(limit: originLimit, idleTimeout: surroundings.settings.idleTimeout))
        )
        self.group = group
        self.shared = shared
        self.now = now
        var surroundings = surroundings
        surroundings.left = { origin in shared.state.withLock { $0.table.forget(origin) } }
        self.surroundings = surroundings
    }

    /// The number of origins, except those that are leaving.
    var origins: Int { shared.state.withLock { $0.table.origins.count } }

    /// Sends a request. Returns false without any effect after a shutdown.
    func send(_ exchange: Exchange) -> Bool {
        while true {
            switch place(of: exchange) {
            case .found(let origin):
                if origin.post(exchange) { return true }
                // The origin has ended in the meantime.
                shared.state.withLock { $0.table.forget(origin) }
            case .new(let origin, let leaves):
                for origin in leaves { origin.leave() }
                if origin.post(exchange) { return true }
            case .noRoom(let leaves):
                for origin in leaves { origin.leave() }
                surroundings.withoutHTTP2(exchange)
                return true
            case .shutDown:
                return false
            }
        }
    }

    /// Lets the connections of `scope` finish their requests and close.
    func retire(_ scope: ConnectionScope) {
        for origin in shared.state.withLock({ $0.table.takeOut(scope) }) { origin.leave() }
    }

    /// Counts the connections and requests of all origins, including those that are leaving.
    func snapshot() async -> HTTPSnapshot {
        let origins = shared.state.withLock { Array($0.table.origins.values) + Array($0.table.leaving.values) }
        let counts = origins.map { ($0.route, $0.count()) }
        var snapshot = HTTPSnapshot()
        for (route, count) in counts {
            // Fails if the loop has ended; then no connection is open.
            guard let count = try? await count.get() else { continue }
            if route.isGuarded {
                snapshot.users += count
            } else {
                snapshot.origins[route.origin.authority, default: HTTPSnapshot.OriginCount()] += count
            }
        }
        return snapshot
    }

    /// Fails all outstanding requests and closes every connection.
    func shutDown() async {
        for end in beginShutDown() { try? await end.get() }
    }

    /// Stops accepting requests. The futures complete when the origins have failed theirs.
    func beginShutDown() -> [EventLoopFuture<Void>] {
        let origins = shared.state.withLock { state in
            state.isShutDown = true
            return Array(state.table.origins.values) + Array(state.table.leaving.values)
        }
        return origins.map { $0.shutDown() }
    }

    private func place(of exchange: Exchange) -> Place {
        shared.state.withLock { state in
            guard !state.isShutDown else { return .shutDown }
            let route = ConnectionRoute(exchange)
            if let known = state.table.origins[route] { return .found(known) }
            let (hasRoom, leaves) = state.table.makeSpace(for: route, now: now())
            guard hasRoom else { return .noRoom(leaves: leaves) }
            let new = OriginConnections(route: route, loop: group.next(), surroundings: surroundings)
            state.table.add(new)
            return .new(new, leaves: leaves)
        }
    }
}

/// A bounded table of the origins with connections. Decides which one may be added, and which must leave for it. The
/// caller supplies the time.
struct OriginTable {
    private(set) var origins: [ConnectionRoute: OriginConnections] = [:]
    /// Origins that finish their last requests.
    private(set) var leaving: [ObjectIdentifier: OriginConnections] = [:]
    private var guarded = 0
    private let limit: Int
    private let idleTimeout: Duration

    /// - Parameters:
    ///   - limit: The maximum of origins; users' origins may take three quarters.
    ///   - idleTimeout: An origin idle for this long leaves if another one needs its slot.
    init(limit: Int, idleTimeout: Duration) {
        self.limit = limit
        self.idleTimeout = idleTimeout
    }

    /// Makes space for an origin. The caller must tell the origins in `leaves` to leave.
    mutating func makeSpace(for route: ConnectionRoute, now: Deadline) -> (hasRoom: Bool, leaves: [OriginConnections]) {
        var leaves = origins.values.filter { now - $0.lastRequest >= idleTimeout }
        for origin in leaves { beginLeaving(origin) }
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

    mutating func add(_ origin: OriginConnections) {
        origins[origin.route] = origin
        if origin.route.isGuarded { guarded += 1 }
    }

    /// Removes the origins of `scope`, which the caller must tell to leave.
    mutating func takeOut(_ scope: ConnectionScope) -> [OriginConnections] {
        let leaves = origins.values.filter { $0.route.scope == scope }
        for origin in leaves { beginLeaving(origin) }
        return leaves
    }

    /// Removes an origin that has ended.
    mutating func forget(_ origin: OriginConnections) {
        leaving[ObjectIdentifier(origin)] = nil
        if origins[origin.route] === origin { remove(origin) }
    }

    private mutating func beginLeaving(_ origin: OriginConnections) {
        remove(origin)
        leaving[ObjectIdentifier(origin)] = origin
    }

    private mutating func remove(_ origin: OriginConnections) {
        origins[origin.route] = nil
        if origin.route.isGuarded { guarded -= 1 }
    }

    /// In a full table, an origin idle for this long leaves for another.
    static let leavesWhenCrowded: Duration = .minutes(1)
}
