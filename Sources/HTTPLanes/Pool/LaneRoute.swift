/// Where connections lead and who may use them: requests of different routes never share one.
struct LaneRoute: Hashable, Sendable {
    var origin: Origin
    /// Whether addresses are checked. What users' URLs may connect to and what the operator's may differs.
    var isGuarded: Bool
    var scope: ConnectionScope?
}

extension LaneRoute {
    init(_ exchange: Exchange) {
        origin = exchange.url.origin
        isGuarded = exchange.request.untrustedURL
        scope = exchange.request.scope
    }
}
