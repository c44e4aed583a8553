import NIOConcurrencyHelpers
import NIOCore

/// Lanes by origin. Origins reached by users' URLs and by the operator's are kept apart: what one may connect to the other
/// may not use.
final class LanePool: Sendable {
    private struct Key: Hashable {
        var origin: Origin
        var isGuarded: Bool
        var scope: ConnectionScope?
    }

    private struct State {
        var origins: [Key: OriginLanes] = [:]
        var isShutDown = false
    }

    private let group: any EventLoopGroup
    private let connector: any LaneConnecting
    private let settings: LaneSettings
    private let originLimit: Int
    private let jitter: @Sendable () -> Double
    private let withoutHTTP2: @Sendable (Exchange) -> Void
    private let state = NIOLockedValueBox(State())

    init(
        group: any EventLoopGroup,
        connector: any LaneConnecting,
        settings: LaneSettings,
        originLimit: Int,
        jitter: @escaping @Sendable () -> Double,
        withoutHTTP2: @escaping @Sendable (Exchange) -> Void
    ) {
        self.group = group
        self.connector = connector
        self.settings = settings
        self.originLimit = originLimit
        self.jitter = jitter
        self.withoutHTTP2 = withoutHTTP2
    }

    /// False after a shutdown, with nothing done.
    func send(_ exchange: Exchange) -> Bool {
        let key = Key(
            origin: exchange.url.origin,
            isGuarded: exchange.request.untrustedURL,
            scope: exchange.request.scope
        )
        let lanes: OriginLanes? = state.withLockedValue { state in
            if let known = state.origins[key] { return known }
            guard !state.isShutDown, state.origins.count < originLimit else { return nil }
            let new = OriginLanes(
                origin: key.origin,
                isGuarded: key.isGuarded,
                loop: group.next(),
                connector: connector,
                settings: settings,
                jitter: jitter,
                withoutHTTP2: withoutHTTP2
            )
            state.origins[key] = new
            return new
        }
        if let lanes { return lanes.post(exchange) }
        guard !state.withLockedValue({ $0.isShutDown }) else { return false }
        withoutHTTP2(exchange)
        return true
    }

    /// Fails whatever is outstanding and closes every connection.
    func shutDown() async {
        let origins = state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.origins.values)
        }
        for origin in origins { try? await origin.shutDown().get() }
    }
}
