import NIOCore

/// Turns names into addresses.
protocol NameLookup: Sendable {
    /// Looks `host` up and calls `completion` once, on any thread: with no addresses when none were found, or when
    /// `isWanted` says no before it was begun.
    func lookUp(
        _ host: String,
        port: Int,
        isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping @Sendable ([SocketAddress]) -> Void
    )
}
