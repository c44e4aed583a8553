import NIOCore

/// Makes the connections of lanes.
protocol LaneConnecting: Sendable {
    /// Connects and ends the channel's pipeline with a `LaneHandler` for `lane`, all on `loop`. Fails with an
    /// `HTTPFailure` when no channel came to be; what happens to a channel afterwards the lane hears itself.
    ///
    /// - Parameters:
    ///   - lane: Where the channel's bytes go.
    ///   - origin: Where to connect to, by a fresh look-up of its name.
    ///   - isGuarded: Whether only addresses that the guard permits may be connected to.
    ///   - timeout: For the connection, in milliseconds.
    ///   - loop: The lane's.
    /// - Returns: Nothing, once connected.
    func connect(
        _ lane: NIOLoopBound<Lane>,
        to origin: Origin,
        isGuarded: Bool,
        timeout: Int64,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void>
}
