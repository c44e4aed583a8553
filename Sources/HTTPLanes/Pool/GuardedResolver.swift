import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Looks a name up once, on a thread that may block, and hands out only addresses that may be connected to.
///
/// `@unchecked Sendable`: the promises are Sendable and `isStarted` is touched on the loop alone.
package final class GuardedResolver: Resolver, @unchecked Sendable {
    private let addressGuard: AddressGuard?
    private let threads: NIOThreadPool
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private var isStarted = false
    private let isGivenUp = Atomic(false)

    /// One resolver is for one connection. Without a guard every address is permitted. `threads` wait for name servers: whose names
    /// may be slow on purpose, needs threads of their own.
    package init(loop: any EventLoop, addressGuard: AddressGuard?, threads: NIOThreadPool = .singleton) {
        self.addressGuard = addressGuard
        self.threads = threads
        v4 = loop.makePromise()
        v6 = loop.makePromise()
    }

    package func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        start(host: host, port: port)
        return v4.futureResult
    }

    package func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        start(host: host, port: port)
        return v6.futureResult
    }

    /// Has a look-up that is not under way left out: whoever gave up waiting for a thread must not keep others waiting for it.
    package func cancelQueries() {
        isGivenUp.store(true, ordering: .relaxed)
    }

    private func start(host: String, port: Int) {
        guard !isStarted else { return }
        isStarted = true
        threads.submit { state in
            // Pools that are shut down do not look up.
            let isWanted = state == .active && !self.isGivenUp.load(ordering: .relaxed)
            let found = isWanted ? Self.lookUp(host: host, port: port) : []
            let permitted = found.filter { self.addressGuard?.permits($0.ip) ?? true }
            guard !permitted.isEmpty else {
                let reason = found.isEmpty ? HTTPFailure.Reason.unresolved : .forbiddenAddress
                let failure = HTTPFailure(reason, mayHaveBeenProcessed: false)
                self.v4.fail(failure)
                self.v6.fail(failure)
                return
            }
            self.v6.succeed(permitted.map(\.socket).filter { $0.protocol == .inet6 })
            self.v4.succeed(permitted.map(\.socket).filter { $0.protocol == .inet })
        }
    }

    private static func lookUp(host: String, port: Int) -> [(ip: IPAddress, socket: SocketAddress)] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        // Every address comes once for each kind of socket.
        var seen: Set<IPAddress> = []
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
            guard let entry, let address = entry.pointee.ai_addr,
                let ip = IPAddress(address, length: Int(entry.pointee.ai_addrlen)), seen.insert(ip).inserted
            else { return nil }
            let bytes = UnsafeRawPointer(address)
            let socket =
                if case .v4 = ip {
                    SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: host)
                } else {
                    SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: host)
                }
            return (ip, socket)
        }
    }
}
