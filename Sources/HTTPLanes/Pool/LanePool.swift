import NIOConcurrencyHelpers
import NIOCore

/// Lanes by route.
final class LanePool: Sendable {
    private struct State {
        var table: OriginTable
        var isShutDown = false
    }

    private enum Place {
        case found(OriginLanes)
        case new(OriginLanes, leaves: [OriginLanes])
        case noRoom(leaves: [OriginLanes])
        case shutDown
    }

    private let group: any EventLoopGroup
    private let surroundings: OriginLanes.Surroundings
    private let now: @Sendable () -> Int64
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - group: Carries the connections.
    ///   - surroundings: What origins share; `left` is the pool's own.
    ///   - originLimit: Origins at most; requests to further ones go without HTTP/2.
    ///   - now: The event loops' clock, in milliseconds.
    init(
        group: any EventLoopGroup,
        surroundings: OriginLanes.Surroundings,
        originLimit: Int,
        now: @escaping @Sendable () -> Int64 = { NIODeadline.now().milliseconds }
    ) {
        let state = NIOLockedValueBox(
            State(table: OriginTable(limit: originLimit, idleTimeout: surroundings.settings.idleTimeout))
        )
        self.group = group
        self.state = state
        self.now = now
        var surroundings = surroundings
        surroundings.left = { lanes in state.withLockedValue { $0.table.forget(lanes) } }
        self.surroundings = surroundings
    }

    /// Origins that have lanes, those that are leaving not counted.
    var origins: Int { state.withLockedValue { $0.table.origins.count } }

    /// False after a shutdown, with nothing done.
    func send(_ exchange: Exchange) -> Bool {
        let route = LaneRoute(exchange)
        while true {
            switch place(of: route) {
            case .found(let lanes):
                if lanes.post(exchange) { return true }
                // It came to its end in the meantime.
                state.withLockedValue { $0.table.forget(lanes) }
            case .new(let lanes, let leaves):
                for origin in leaves { origin.leave() }
                if lanes.post(exchange) { return true }
            case .noRoom(let leaves):
                for origin in leaves { origin.leave() }
                surroundings.withoutHTTP2(exchange)
                return true
            case .shutDown:
                return false
            }
        }
    }

    /// Connections of `scope` finish what they have, and close.
    func retire(_ scope: ConnectionScope) {
        for origin in state.withLockedValue({ $0.table.takeOut(scope) }) { origin.leave() }
    }

    /// What all origins have open; those that are leaving count too.
    func snapshot() async -> LanesSnapshot {
        let origins = state.withLockedValue { Array($0.table.origins.values) + Array($0.table.leaving.values) }
        let counts = origins.map { ($0.route, $0.count()) }
        var snapshot = LanesSnapshot()
        for (route, count) in counts {
            // Fails where the loop has ended, and then nothing is open.
            guard let count = try? await count.get() else { continue }
            if route.isGuarded {
                snapshot.users += count
            } else {
                snapshot.origins[route.origin.authority, default: LanesSnapshot.OriginCount()] += count
            }
        }
        return snapshot
    }

    /// Fails whatever is outstanding and closes every connection.
    func shutDown() async {
        for end in beginShutDown() { try? await end.get() }
    }

    /// Takes nothing more, and returns futures of when each origin has let go of what it had.
    func beginShutDown() -> [EventLoopFuture<Void>] {
        let origins = state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.table.origins.values) + Array(state.table.leaving.values)
        }
        return origins.map { $0.shutDown() }
    }

    private func place(of route: LaneRoute) -> Place {
        state.withLockedValue { state in
            guard !state.isShutDown else { return .shutDown }
            if let known = state.table[route] { return .found(known) }
            let (hasRoom, leaves) = state.table.makeRoom(for: route, now: now())
            guard hasRoom else { return .noRoom(leaves: leaves) }
            let new = OriginLanes(route: route, loop: group.next(), surroundings: surroundings)
            state.table.add(new)
            return .new(new, leaves: leaves)
        }
    }
}
