import NIOCore
import NIOPosix

/// Names looked up on the threads of a pool: as many at a time as it has threads.
struct PooledLookup: NameLookup {
    let threads: NIOThreadPool

    func lookUp(
        _ host: String,
        port: Int,
        isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping @Sendable ([SocketAddress]) -> Void
    ) {
        threads.submit { state in
            // Pools that are shut down do not look up.
            completion(state == .active && isWanted() ? SystemNames.lookUp(host, port: port) : [])
        }
    }
}
