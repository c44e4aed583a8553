import NIOCore

/// Makes the connections of lanes.
protocol LaneConnecting: Sendable {
    /// Connects and ends the channel's pipeline with a `LaneHandler` for `lane`, all on `loop`. Fails with an
    /// `HTTPFailure` when no channel came to be; what happens to a channel afterwards the lane hears itself.
    ///
    /// - Parameters:
    ///   - lane: Where the channel's bytes go.
    ///   - route: Where to connect to, by a fresh look-up of its name.
    ///   - timeout: For the connection, in milliseconds.
    ///   - loop: The lane's.
    /// - Returns: Nothing, once connected.
    func connect(
        _ lane: NIOLoopBound<Lane>,
        along route: LaneRoute,
        timeout: Int64,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void>
}
